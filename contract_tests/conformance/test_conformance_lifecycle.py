"""States and transitions of a Number: connected, disconnected, banned, and back."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.world import Hook, Hooks, Sandbox, new_recipient, send
from contract_tests.halting import halt, resume
from contract_tests.harness import Customer, Gateway, wait_for

NUMBER_KINDS = ("number.activated", "number.disconnected", "number.banned")


@pytest.fixture
def disposable_number(gateway: Gateway, customer: Customer) -> dict[str, str]:
    """A number of the customer's that a test may disconnect."""
    return dict(gateway.cli("sandbox-connect", customer.account_id))


def status_of(api: Api, number: dict[str, str]) -> str:
    """The status of a number as the API shows it."""
    return str(api.get(f"/numbers/{number['id']}")["status"])


def wait_transition(hook: Hook, number: dict[str, str], kind: str, count: int = 1) -> Any:
    """Wait for the event of a transition, whose data equals the API's Number."""
    event = hook.wait_kind(kind, count)[-1]
    assert event["data"] == hook.api.get(f"/numbers/{number['id']}")
    return event["data"]


@pytest.mark.parametrize(
    ("told", "kind", "status"),
    [
        ("DISCONNECTED", "number.disconnected", "DISCONNECTED"),
        ("BANNED", "number.banned", "BANNED"),
    ],
)
def test_a_lost_number_has_an_event_and_cannot_send_until_it_is_back(
    sandbox: Sandbox,
    hooks: Hooks,
    disposable_number: dict[str, str],
    told: str,
    kind: str,
    status: str,
) -> None:
    """'number.disconnected', 'number.banned', and 'number.activated' when it is ready again."""
    api, hook = hooks.api, hooks(*NUMBER_KINDS, number_ids=[disposable_number["id"]])
    sandbox.set_status(disposable_number["phoneNumber"], told)
    data = wait_transition(hook, disposable_number, kind)
    assert data["status"] == status_of(api, disposable_number) == status
    to = new_recipient()
    refused = send(api, disposable_number["id"], to, 409)
    assert status in refused.json()["error"]["message"]
    assert sandbox.accepted(to) == []
    sandbox.set_status(disposable_number["phoneNumber"], "CONNECTED")
    data = wait_transition(hook, disposable_number, "number.activated")
    assert data["status"] == "ACTIVE"
    assert data["activatedAt"] > disposable_number["activatedAt"]
    send(api, disposable_number["id"], to)


@pytest.mark.parametrize("event", ["PARTNER_APP_UNINSTALLED", "ACCOUNT_OFFBOARDED"])
def test_each_way_of_disconnecting_a_number_has_one_event(
    sandbox: Sandbox, hooks: Hooks, disposable_number: dict[str, str], event: str
) -> None:
    """number.disconnected: A number is disconnected."""
    hook = hooks(*NUMBER_KINDS, number_ids=[disposable_number["id"]])
    sandbox.set_status(disposable_number["phoneNumber"], "DISCONNECTED", event=event)
    wait_transition(hook, disposable_number, "number.disconnected")
    send(hooks.api, disposable_number["id"], new_recipient(), 409)
    sandbox.set_status(disposable_number["phoneNumber"], "CONNECTED")
    wait_transition(hook, disposable_number, "number.activated")
    send(hooks.api, disposable_number["id"], new_recipient())
    assert [d["event"] for d in hook.deliveries()] == ["number.activated", "number.disconnected"]


def test_a_ban_of_one_number_leaves_the_business_accounts_other_number_active(
    gateway: Gateway, sandbox: Sandbox, hooks: Hooks, anyone: Api, customer: Customer
) -> None:
    """The callback names the account, so the gateway checks each number."""
    claims = [sandbox.sign_up()]
    claims.append(sandbox.sign_up(waba_id=claims[0]["waba_id"]))
    numbers = []
    for claim in claims:
        slug = f"two-{secrets.token_hex(6)}"
        gateway.cli(
            "signup-links", "create", customer.account_id, "--slug", slug, "--exact", "--yes"
        )
        numbers.append(
            dict(anyone.call("POST", f"/signup/{slug}/complete", 201, json=claim).json())
        )
    banned, spared = numbers
    hook = hooks(*NUMBER_KINDS, number_ids=[n["id"] for n in numbers])
    sandbox.set_status(banned["phoneNumber"], "BANNED")
    wait_transition(hook, banned, "number.banned")
    send(hooks.api, banned["id"], new_recipient(), 409)
    send(hooks.api, spared["id"], new_recipient())
    sandbox.set_status(banned["phoneNumber"], "CONNECTED")
    wait_transition(hook, banned, "number.activated")
    assert {d["event"] for d in hook.deliveries()} == {"number.banned", "number.activated"}
    assert len(hook.deliveries()) == 2
    assert status_of(hooks.api, spared) == "ACTIVE"


def test_a_banned_number_shows_the_reason_quality_and_limit(
    sandbox: Sandbox, hooks: Hooks, disposable_number: dict[str, str]
) -> None:
    """Number and event have the quality, the messaging limit and the reason of the ban."""
    hook = hooks("number.banned", "number.updated", number_ids=[disposable_number["id"]])
    sandbox.set_status(disposable_number["phoneNumber"], "BANNED")
    data = wait_transition(hook, disposable_number, "number.banned")
    assert data["statusReason"] == "DISABLED_UPDATE DISABLE"
    assert (data["qualityRating"], data["messagingLimit"]) == ("UNKNOWN", "TIER_2K")
    assert hooks.api.get(f"/numbers/{disposable_number['id']}") == data
    refused = send(hooks.api, disposable_number["id"], new_recipient(), 409)
    told = refused.json()["error"]["message"]
    assert "DISABLED_UPDATE DISABLE" in told
    assert "WhatsApp Manager" in told
    update = hook.wait_kind("number.updated")[-1]["data"]
    assert (update["qualityRating"], update["status"]) == ("UNKNOWN", "ACTIVE")


def test_a_number_can_be_lost_more_than_once(
    sandbox: Sandbox, hooks: Hooks, disposable_number: dict[str, str]
) -> None:
    """Each transition emits its event, once."""
    hook = hooks(*NUMBER_KINDS, number_ids=[disposable_number["id"]])
    for count in (1, 2):
        sandbox.set_status(disposable_number["phoneNumber"], "BANNED")
        wait_transition(hook, disposable_number, "number.banned", count)
        sandbox.set_status(disposable_number["phoneNumber"], "CONNECTED")
        wait_transition(hook, disposable_number, "number.activated", count)
    assert len(hook.deliveries()) == 4


def test_a_repeated_request_is_replayed_even_when_its_number_was_lost_meanwhile(
    sandbox: Sandbox, hooks: Hooks, disposable_number: dict[str, str]
) -> None:
    """'Returns the original response without being processed again', although the number was lost since."""
    hook = hooks("number.banned", number_ids=[disposable_number["id"]])
    to, key = new_recipient(), secrets.token_hex(8)
    first = send(hooks.api, disposable_number["id"], to, key=key)
    sandbox.set_status(disposable_number["phoneNumber"], "BANNED")
    wait_transition(hook, disposable_number, "number.banned")
    again = send(hooks.api, disposable_number["id"], to, key=key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.content == first.content
    assert len(sandbox.accepted(to)) == 1


def test_the_other_numbers_of_the_account_stay_active(
    sandbox: Sandbox, hooks: Hooks, disposable_number: dict[str, str], number: dict[str, str]
) -> None:
    """The transition affects one number only."""
    hook = hooks(*NUMBER_KINDS)
    sandbox.set_status(disposable_number["phoneNumber"], "BANNED")
    wait_transition(hook, disposable_number, "number.banned")
    send(hooks.api, number["id"], new_recipient())
    assert {e["data"]["id"] for e in hook.wait()} == {disposable_number["id"]}


def test_number_ids_limit_the_events_of_numbers_too(
    sandbox: Sandbox, hooks: Hooks, disposable_number: dict[str, str], number: dict[str, str]
) -> None:
    """If numberIds is non-empty, only for those numbers."""
    its, others = (
        hooks("number.disconnected", number_ids=[n["id"]]) for n in (disposable_number, number)
    )
    sandbox.set_status(disposable_number["phoneNumber"], "DISCONNECTED")
    wait_transition(its, disposable_number, "number.disconnected")
    assert others.deliveries() == []


@pytest.fixture
def stopped_worker(gateway: Gateway) -> Iterator[int]:
    """The worker's process, halted: callbacks arrive, but nothing ingests them."""
    worker = gateway.part("worker")

    def stop() -> bool:
        halt(worker)
        if gateway.stored.is_free():
            return True
        # It is in the middle of a transaction and would block all others.
        resume(worker)
        return False

    wait_for(stop, "a worker between two transactions")
    yield worker
    resume(worker)


@pytest.mark.parametrize(
    ("told", "kind"), [("DISCONNECTED", "number.disconnected"), ("BANNED", "number.banned")]
)
def test_a_send_that_finds_the_number_lost_changes_its_status(
    sandbox: Sandbox,
    hooks: Hooks,
    disposable_number: dict[str, str],
    stopped_worker: int,
    told: str,
    kind: str,
) -> None:
    """409 if the network reports the loss before its callback is ingested. The event still comes once."""
    api, hook = hooks.api, hooks(*NUMBER_KINDS, number_ids=[disposable_number["id"]])
    sandbox.set_status(disposable_number["phoneNumber"], told)
    assert status_of(api, disposable_number) == "ACTIVE"
    send(api, disposable_number["id"], new_recipient(), 409)
    assert status_of(api, disposable_number) == told
    wait_for(sandbox.has_told_all, "the callback in the service's hands")
    resume(stopped_worker)
    wait_transition(hook, disposable_number, kind)
    # The earlier callback has been ingested once this later one has.
    sandbox.set_status(disposable_number["phoneNumber"], "CONNECTED")
    wait_transition(hook, disposable_number, "number.activated")
    assert sorted(d["event"] for d in hook.deliveries()) == sorted([kind, "number.activated"])
