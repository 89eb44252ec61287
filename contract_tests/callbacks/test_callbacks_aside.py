"""Callbacks that could not be ingested: an operator lists and replays them."""

from collections.abc import Iterator

import pytest

from contract_tests.callbacks.platform import (
    SETTINGS,
    Platform,
    entry,
    messages,
    new_wamid,
    sign,
)
from contract_tests.commands import command_server
from contract_tests.harness import Customer, Gateway, Receiver, running, wait_for


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A separate service: tests here count what is aside."""
    with running(tmp_path_factory.mktemp("aside"), **SETTINGS) as service:
        yield service


def _run(gateway: Gateway, *arguments: str) -> tuple[int, str, str]:
    """The exit status of a command, and its stdout and stderr."""
    command = ("callbacks", *arguments)
    return command_server().invoke(command, gateway.environment, gateway.folder)


def _text(wamid: str) -> dict[str, object]:
    return {"from": "1650", "id": wamid, "type": "text", "text": {"body": "private words"}}


def test_items_are_listed_by_reason_and_without_message_texts(
    gateway: Gateway, platform: Platform
) -> None:
    platform.tell(entry("2001", messages("999001", messages=[_text("wamid.A")])))
    platform.post(b"no callback", sign(b"no callback"))
    foreign, unreadable = (
        wait_for(lambda: gateway.cli("callbacks", "aside", "--reason", reason), reason)  # noqa: B023
        for reason in ("foreign_number", "unreadable")
    )
    assert foreign[0] | {"id": "", "createdAt": ""} == {
        "id": "",
        "createdAt": "",
        "reason": "foreign_number",
        "phoneNumberId": "999001",
        "waMessageId": "wamid.A",
        "error": None,
    }
    assert "JSON" in unreadable[0]["error"]
    status, listed, _ = _run(gateway, "aside")
    assert status == 0
    assert foreign[0]["id"] in listed
    assert listed.endswith("In all: 1 foreign_number, 1 unreadable.\n")
    assert max(map(len, listed.splitlines())) <= 80
    assert "private words" not in listed + gateway.log()


def test_a_number_connected_later_gets_its_replayed_callbacks(
    gateway: Gateway, customer: Customer, platform: Platform, receiver: Receiver
) -> None:
    body = {"url": receiver.url("/replay"), "events": ["message.received"]}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201
    signup = gateway.sandbox_call("signup")
    wamid = new_wamid()
    platform.tell(entry("2001", messages(signup["phone_number_id"], messages=[_text(wamid)])))

    def find() -> list[str]:
        rows = gateway.cli("callbacks", "aside", "--reason", "foreign_number")
        return [row["id"] for row in rows if row["waMessageId"] == wamid]

    [item] = wait_for(find, "the item aside")
    status, _, said = _run(gateway, "replay", item)
    assert status == 1
    assert f"{item} stays aside: foreign_number" in said
    link = gateway.cli("signup-links", "create", customer.account_id, "--slug", "later")
    wanted = {name: signup[name] for name in ("code", "phone_number_id", "waba_id")}
    done = customer.request("POST", f"/signup/{link['slug']}/complete", json=wanted)
    assert done.status_code == 201, done.text
    assert gateway.cli("callbacks", "replay", item) == {"replayed": 1, "stillAside": 0}
    [received] = receiver.wait("/replay")
    assert received.event["data"]["waMessageId"] == wamid
    assert find() == []
    status, _, said = _run(gateway, "replay", item)
    assert status == 1
    assert f"No item {item} is aside." in said


def test_all_items_of_a_reason_are_replayed_once(gateway: Gateway, platform: Platform) -> None:
    items = [_text(f"wamid.many.{index}") for index in range(150)]
    platform.tell(entry("2001", messages("999002", messages=items)))

    def all_there() -> bool:
        _, counted, _ = _run(gateway, "aside", "--reason", "foreign_number")
        return int(counted.split("In all: ")[1].split()[0]) >= len(items)

    wait_for(all_there, "all aside")
    counts = gateway.cli("callbacks", "replay", "--reason", "foreign_number")
    assert counts["replayed"] == 0
    assert len(items) <= counts["stillAside"] <= len(items) + 2


@pytest.mark.parametrize(
    "arguments", [(), ("--all", "--reason", "failed"), ("sa_1", "--all"), ("--reason", "no")]
)
def test_a_replay_without_an_item_or_reason_or_with_both_is_wrong_usage(
    gateway: Gateway, arguments: tuple[str, ...]
) -> None:
    assert _run(gateway, "replay", *arguments)[:2] == (2, "")
