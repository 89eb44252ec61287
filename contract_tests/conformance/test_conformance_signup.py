"""Signup links: their public routes connect a number."""

import secrets
import subprocess
import sys
from typing import Any

import pytest

from contract_tests.conformance.exchange import Api
from contract_tests.conformance.timelapse import Timelapse
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient, send
from contract_tests.harness import Customer, Gateway


class Links:
    """Creates signup links of an account, with names of the test."""

    def __init__(self, gateway: Gateway, account_id: str) -> None:
        self._gateway = gateway
        self._account_id = account_id

    def create(self) -> dict[str, Any]:
        """A new link."""
        slug = f"Link-{secrets.token_hex(6)}"
        link: dict[str, Any] = self._gateway.cli(
            "signup-links", "create", self._account_id, "--slug", slug, "--exact", "--yes"
        )
        assert link["slug"] == slug
        return link


@pytest.fixture
def links(gateway: Gateway, customer: Customer) -> Links:
    """Creates signup links of the customer."""
    return Links(gateway, customer.account_id)


@pytest.fixture(scope="module")
def open_slug(gateway: Gateway, customer: Customer) -> str:
    """The slug of a link that no test completes."""
    return str(Links(gateway, customer.account_id).create()["slug"])


def complete(anyone: Api, slug: str, signup: dict[str, str], expect: int = 201) -> Any:
    """Post the result that the platform's signup passed to the browser."""
    path = f"/signup/{slug}/complete"
    return anyone.call("POST", path, expect, json=signup, fits=True).json()


def test_an_open_link_shows_its_account(gateway: Gateway, anyone: Api, links: Links) -> None:
    """Created in the dashboard and shared with the owner of a number. Its routes are public."""
    made = links.create()
    link = anyone.get(f"/signup/{made['slug']}")
    assert link["slug"] == made["slug"]
    assert link["accountName"] == "Acme"
    assert link["createdAt"] == made["createdAt"]
    assert link["expiresAt"] > link["createdAt"]
    assert link["appId"]
    assert link["configId"]
    assert made["url"] == f"{gateway.url}/connect/{made['slug']}"


def test_completing_a_signup_registers_an_active_number(
    api: Api, anyone: Api, sandbox: Sandbox, links: Links
) -> None:
    """The owner then completes an embedded signup flow [...] and the number is registered."""
    phone = f"1557{secrets.randbelow(10**7):07d}"
    signup = sandbox.sign_up(phone=phone, display_name="Acme Support")
    number = complete(anyone, links.create()["slug"], signup)
    assert number["status"] == "ACTIVE"
    assert number["phoneNumber"] == phone
    assert number["displayName"] == "Acme Support"
    assert api.get(f"/numbers/{number['id']}") == number
    assert api.get("/numbers")["data"][0] == number
    send(api, number["id"], new_recipient())


def test_number_activated_is_emitted_once(
    anyone: Api, sandbox: Sandbox, hooks: Hooks, links: Links
) -> None:
    """number.activated is emitted when a number created via a signup link becomes ACTIVE."""
    hook = hooks("number.activated", "message.received")
    number = complete(anyone, links.create()["slug"], sandbox.sign_up())
    [event] = hook.wait_kind("number.activated")
    assert event["data"] == number
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait_kind("message.received")
    assert len(hook.deliveries(event="number.activated")) == 1


def test_a_number_becomes_active_without_a_webhook(
    gateway: Gateway, anyone: Api, fresh: Customer, fresh_api: Api, sandbox: Sandbox
) -> None:
    """The event number.activated is emitted if a webhook is configured."""
    slug = Links(gateway, fresh.account_id).create()["slug"]
    number = complete(anyone, slug, sandbox.sign_up())
    assert fresh_api.get("/numbers")["data"] == [number]
    send(fresh_api, number["id"], new_recipient())


def test_a_link_works_once(anyone: Api, sandbox: Sandbox, links: Links) -> None:
    """409 CONFLICT: the link is used."""
    slug = links.create()["slug"]
    complete(anyone, slug, sandbox.sign_up())
    for told in (
        complete(anyone, slug, sandbox.sign_up(), 409),
        anyone.get(f"/signup/{slug}", 409),
    ):
        assert "used" in told["error"]["message"]


def test_a_link_expires(anyone: Api, sandbox: Sandbox, timelapse: Timelapse, links: Links) -> None:
    """409 CONFLICT: the link is expired."""
    slug = links.create()["slug"]
    timelapse.expire_signup_link(slug)
    for told in (
        complete(anyone, slug, sandbox.sign_up(), 409),
        anyone.get(f"/signup/{slug}", 409),
    ):
        assert "expired" in told["error"]["message"]


def test_a_link_can_be_revoked(
    gateway: Gateway, anyone: Api, sandbox: Sandbox, links: Links
) -> None:
    """409 CONFLICT: the link is revoked."""
    link = links.create()
    gateway.cli("signup-links", "revoke", link["id"])
    for told in (
        complete(anyone, link["slug"], sandbox.sign_up(), 409),
        anyone.get(f"/signup/{link['slug']}", 409),
    ):
        assert "revoked" in told["error"]["message"]


def test_an_unknown_link_is_not_found(anyone: Api, sandbox: Sandbox) -> None:
    """404 NOT_FOUND."""
    anyone.get("/signup/no-such-link", 404)
    complete(anyone, "no-such-link", sandbox.sign_up(), 404)


@pytest.mark.parametrize("slug", ["-x", "a_b", "a.b", "%C3%BC", "x" * 64])
def test_a_malformed_slug_is_refused(anyone: Api, slug: str) -> None:
    """400 VALIDATION_ERROR: the slug is malformed."""
    anyone.get(f"/signup/{slug}", 400)


@pytest.mark.parametrize(
    "change",
    [
        {"code": ""},
        {"code": None},
        {"code": "two words"},
        {"phone_number_id": "x"},
        {"phone_number_id": 1},
        {"waba_id": ""},
        {"pin": "12345"},
        {"pin": 123456},
        {"pin": "1234567"},
        {"surplus": "1"},
    ],
    ids=str,
)
def test_an_invalid_claim_is_refused(
    anyone: Api, open_slug: str, sandbox: Sandbox, change: dict[str, Any]
) -> None:
    """400 VALIDATION_ERROR; the link stays open."""
    claim = sandbox.sign_up() | change
    refused = anyone.call("POST", f"/signup/{open_slug}/complete", 400, json=claim)
    assert anyone.contract.refuses(refused.request)
    anyone.get(f"/signup/{open_slug}")


def test_a_claim_that_the_platform_does_not_confirm_is_refused(
    anyone: Api, sandbox: Sandbox, links: Links
) -> None:
    """400 VALIDATION_ERROR for another person's code or number. The link stays open."""
    slug = links.create()["slug"]
    mine, theirs = sandbox.sign_up(), sandbox.sign_up()
    told = complete(anyone, slug, mine | {"code": "made-up"}, 400)
    assert told["error"]["details"]["field"] == "/code"
    complete(anyone, slug, mine | {"waba_id": theirs["waba_id"]}, 400)
    mine |= {"code": sandbox.sign_up(phone=None)["code"]}
    complete(anyone, slug, mine, 400)
    complete(anyone, slug, theirs | {"phone_number_id": "1"}, 400)
    anyone.get(f"/signup/{slug}")
    complete(anyone, slug, sandbox.sign_up())


def test_a_number_of_another_account_is_a_conflict(
    gateway: Gateway, anyone: Api, sandbox: Sandbox, other_customer: Customer, links: Links
) -> None:
    """409 CONFLICT: the number is connected elsewhere. Its owner keeps it."""
    phone = other_customer.number["phoneNumber"]
    slug = links.create()["slug"]
    told = complete(anyone, slug, sandbox.sign_up(phone=phone), 409)
    assert "another account" in told["error"]["message"]
    listed = gateway.cli("numbers", "list", "--account", other_customer.account_id)
    assert dict(other_customer.number) in listed


def test_a_disconnected_number_is_activated_again_as_the_same_number(
    api: Api, anyone: Api, sandbox: Sandbox, hooks: Hooks, links: Links
) -> None:
    """The same account connects the same phone number again."""
    hook = hooks("number.activated", "number.disconnected")
    number = complete(anyone, links.create()["slug"], sandbox.sign_up())
    sandbox.set_status(number["phoneNumber"], "DISCONNECTED")
    hook.wait_kind("number.disconnected")
    again = complete(anyone, links.create()["slug"], sandbox.sign_up(phone=number["phoneNumber"]))
    assert again["id"] == number["id"]
    assert again["status"] == "ACTIVE"
    assert again["createdAt"] == number["createdAt"]
    assert again["activatedAt"] > number["activatedAt"]
    assert [e["data"]["id"] for e in hook.wait_kind("number.activated", 2)] == [number["id"]] * 2
    send(api, number["id"], new_recipient())


def test_a_disconnected_number_can_move_to_another_account(
    gateway: Gateway,
    api: Api,
    anyone: Api,
    sandbox: Sandbox,
    hooks: Hooks,
    links: Links,
    other_customer: Customer,
) -> None:
    """A disconnected number is free to connect. Its old Number stays disconnected."""
    hook = hooks("number.disconnected")
    number = complete(anyone, links.create()["slug"], sandbox.sign_up())
    sandbox.set_status(number["phoneNumber"], "DISCONNECTED")
    hook.wait()
    slug = Links(gateway, other_customer.account_id).create()["slug"]
    # The new owner turns off the previous owner's two-step verification.
    wish = {"phone": number["phoneNumber"], "reset_pin": True}
    moved = complete(anyone, slug, sandbox.sign_up(**wish))
    assert moved["id"] != number["id"]
    assert api.get(f"/numbers/{number['id']}")["status"] == "DISCONNECTED"
    back = complete(
        anyone, links.create()["slug"], sandbox.sign_up(phone=number["phoneNumber"]), 409
    )
    assert "another account" in back["error"]["message"]


def test_a_failed_signup_leaves_the_number_available(
    gateway: Gateway,
    anyone: Api,
    sandbox: Sandbox,
    hooks: Hooks,
    links: Links,
    other_customer: Customer,
) -> None:
    """The same: another account's failed signup does not connect the number."""
    hook = hooks("number.disconnected")
    number = complete(anyone, links.create()["slug"], sandbox.sign_up())
    phone = number["phoneNumber"]
    sandbox.set_status(phone, "DISCONNECTED")
    hook.wait()
    slug = Links(gateway, other_customer.account_id).create()["slug"]
    told = complete(anyone, slug, sandbox.sign_up(phone=phone), 409)
    assert "PIN" in told["error"]["message"]
    again = complete(anyone, links.create()["slug"], sandbox.sign_up(phone=phone))
    assert (again["id"], again["status"]) == (number["id"], "ACTIVE")


def test_a_number_with_a_pin_of_its_own_is_connected_with_that_pin(
    anyone: Api, sandbox: Sandbox, links: Links, api: Api
) -> None:
    """409 asks for the PIN, and the same request with the PIN continues."""
    slug = links.create()["slug"]
    claim = sandbox.sign_up(pin="202611")
    for attempt in (claim, claim | {"pin": "000000"}):
        told = complete(anyone, slug, attempt, 409)
        assert "two-step verification" in told["error"]["message"]
        assert told["error"]["details"]["field"] == "/pin"
    number = complete(anyone, slug, claim | {"pin": "202611"})
    send(api, number["id"], new_recipient())


def test_the_pin_of_a_number_is_stored_for_its_next_signup(
    anyone: Api, sandbox: Sandbox, hooks: Hooks, links: Links
) -> None:
    """The owner need not enter the PIN again."""
    hook = hooks("number.disconnected")
    claim = sandbox.sign_up(pin="202611") | {"pin": "202611"}
    number = complete(anyone, links.create()["slug"], claim)
    sandbox.set_status(number["phoneNumber"], "DISCONNECTED")
    hook.wait()
    again = sandbox.sign_up(phone=number["phoneNumber"])
    assert complete(anyone, links.create()["slug"], again)["id"] == number["id"]


def test_a_claim_can_be_corrected_without_a_new_code(
    anyone: Api, sandbox: Sandbox, links: Links
) -> None:
    """A completed step is not repeated."""
    slug, claim = links.create()["slug"], sandbox.sign_up()
    complete(anyone, slug, claim | {"phone_number_id": "1"}, 400)
    assert complete(anyone, slug, claim)["status"] == "ACTIVE"


def test_a_code_that_was_used_elsewhere_is_refused(
    anyone: Api, sandbox: Sandbox, links: Links
) -> None:
    """400 VALIDATION_ERROR: the code works once. The signup has to be started again."""
    claim = sandbox.sign_up()
    complete(anyone, links.create()["slug"], claim)
    told = complete(anyone, links.create()["slug"], claim, 400)
    assert "Start the signup again" in told["error"]["message"]


def test_a_duplicate_slug_is_a_conflict(gateway: Gateway, customer: Customer, links: Links) -> None:
    """409 CONFLICT: Resource already exists (for example a duplicate slug)."""
    slug = links.create()["slug"]
    arguments = ["signup-links", "create", customer.account_id, "--slug", slug]
    done = subprocess.run(
        [sys.executable, "-m", "gateway", *arguments, "--exact", "--yes", "--json"],
        env=gateway.environment,
        cwd=gateway.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "409 CONFLICT" in done.stderr
    assert slug in done.stderr
