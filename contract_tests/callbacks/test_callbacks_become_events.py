"""Every kind of callback, signed and escaped like the platform's, becomes its event."""

import time
from typing import Any

import pytest

from contract_tests.callbacks.inbound import INBOUND, PERSON, Inbound
from contract_tests.callbacks.platform import Platform, entry, messages, new_wamid
from contract_tests.callbacks.statuses import STATUSES, Status
from contract_tests.conformance.events import Callbacks
from contract_tests.harness import Customer, Gateway, Received, Receiver, wait_for


def iso(seconds: int) -> str:
    """A time of the network in the API's form."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


AT = int(time.time())
AT_ISO = iso(AT)
# Accepted by the sandbox, which then sends no statuses for it.
SILENT = "15550100006"


def _about(wamid: str, receiver: Receiver, count: int) -> list[Received]:
    return receiver.wait(count=count, matching=lambda r: r.event["data"]["waMessageId"] == wamid)


def test_the_test_tables_cover_each_kind_and_variant() -> None:
    assert len(INBOUND) + len(STATUSES) >= 60
    names = [inbound.name for inbound in INBOUND] + [status.name for status in STATUSES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("inbound", INBOUND, ids=lambda inbound: inbound.name)
def test_an_inbound_message_becomes_an_event(
    inbound: Inbound,
    platform: Platform,
    customer: Customer,
    phone_number_id: str,
    all_events: Receiver,
    secret: str,
    contract_events: Callbacks,
) -> None:
    wamid = new_wamid()
    message = inbound.message() | {"id": wamid, "timestamp": str(AT)}
    change = messages(phone_number_id, contacts=inbound.contacts, messages=[message])
    platform.tell(entry("102290129340398", change))
    [received] = _about(wamid, all_events, 1)
    event = contract_events.check(received, secret)
    assert (event["event"], event["timestamp"]) == ("message.received", AT_ISO)
    data = event["data"]
    if inbound.type != "system":
        assert inbound.sender in data["contact"].values()
    assert data == data | {
        "numberId": customer.number["id"],
        "direction": "INBOUND",
        "fromNumber": inbound.sender,
        "toNumber": customer.number["phoneNumber"],
        "type": inbound.shown_type or inbound.type,
        "body": inbound.expected(),
        "createdAt": AT_ISO,
        "waMessageId": wamid,
        "status": "received",
        "error": None,
    }
    read = customer.request("GET", f"/messages/{data['id']}").json()
    assert {key: read[key] for key in data} == data


@pytest.mark.parametrize("status", STATUSES, ids=lambda status: status.name)
def test_statuses_become_events(
    status: Status,
    platform: Platform,
    customer: Customer,
    phone_number_id: str,
    all_events: Receiver,
    secret: str,
    contract_events: Callbacks,
) -> None:
    sent = customer.send(SILENT).json()
    # A step is never shown with an earlier time than the previous step.
    later = int(time.time()) + 60
    told = [{"id": sent["wa_message_id"], "timestamp": str(later)} | one for one in status.told]
    change = messages(phone_number_id, contacts=status.contacts, statuses=told, **status.around)
    platform.tell(entry("102290129340398", change))
    platform.tell(entry("102290129340398", change))
    events = [
        contract_events.check(received, secret)
        for received in _about(sent["wa_message_id"], all_events, len(status.events))
    ]
    assert sorted(event["event"] for event in events) == sorted(status.events)
    assert {event["data"]["id"] for event in events} == {sent["id"]}
    failed = [event["data"]["error"] for event in events if event["event"] == "message.failed"]
    for error in failed:
        if status.error is None or error is None:
            assert error == status.error
            continue
        assert error["code"] == status.error["code"]
        # The code's explanation follows.
        assert error["message"].startswith(status.error["message"])
    read = customer.request("GET", f"/messages/{sent['id']}").json()
    assert read["status"] == status.ends
    steps = {step["status"]: step["at"] for step in read["statusHistory"]}
    kinds = {f"message.{step}" for step in steps} - {"message.pending"}
    assert kinds == status.events
    assert {at for step, at in steps.items() if step not in ("pending", "sent")} <= {iso(later)}


def test_every_item_of_a_callback_for_several_numbers_is_ingested(
    gateway: Gateway, platform: Platform, phone_number_id: str, all_events: Receiver, secret: str
) -> None:
    """Several entries, changes and items, good and bad ones, with the keys in either order."""
    assert secret
    wamids = [new_wamid() for _ in range(5)]

    def text(wamid: str) -> dict[str, Any]:
        body = {"from": PERSON, "id": wamid, "timestamp": str(AT), "type": "text"}
        return body | {"text": {"body": wamid}}

    foreign = messages("106540352242922", messages=[text("wamid.FOREIGN")])
    broken = messages(phone_number_id, messages=[7, text(wamids[0]), {"type": "text"}])
    mixed = messages(phone_number_id, messages=[text(wamids[1])], statuses=[{"id": 1}])
    platform.tell(
        entry("1", broken, foreign, {"field": "messages"}, {"value": {}, "field": "flows"}),
        entry(
            "2",
            mixed,
            dict(reversed(messages(phone_number_id, messages=[text(wamids[2])]).items())),
        ),
        entry("3", messages(phone_number_id, messages=[text(wamids[3]), text(wamids[4])]), time=AT),
    )
    for wamid in wamids:
        [received] = _about(wamid, all_events, 1)
        assert received.event["data"]["body"] == {"body": wamid}
    aside = wait_for(lambda: gateway.cli("callbacks", "aside", "--reason", "foreign_number"), "it")
    assert [item["waMessageId"] for item in aside] == ["wamid.FOREIGN"]


def test_the_platforms_test_callbacks_are_answered_and_ignored(
    gateway: Gateway, platform: Platform, phone_number_id: str, all_events: Receiver, secret: str
) -> None:
    assert secret
    before = gateway.cli("callbacks", "aside")
    sample = {"from": "16315551181", "id": "ABGGFlA5Fpa", "timestamp": "1504902988", "type": "text"}
    sample["text"] = "this is a text message"
    platform.tell(entry("0", messages("123456123", messages=[sample])))
    platform.tell(entry("0", messages(phone_number_id, messages=[sample])))
    # Later callbacks are ingested after or concurrently with it: both are done when this one is.
    wamid = new_wamid()
    behind = {
        "from": PERSON,
        "id": wamid,
        "timestamp": str(AT),
        "type": "text",
        "text": {"body": ""},
    }
    platform.tell(entry("1", messages(phone_number_id, messages=[behind])))
    _about(wamid, all_events, 1)
    assert not all_events.wait(count=0, matching=lambda r: "ABGGFlA5Fpa" in r.body.decode())
    assert gateway.cli("callbacks", "aside") == before
