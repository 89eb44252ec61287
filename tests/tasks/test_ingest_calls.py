"""Calls become events that hold all that the network sent."""

import json
from typing import Any

import pytest

from models.accounts.account import Account
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages.callback import Reason, SetAside
from models.messages.contact import Contact
from models.numbers.notice import Notice
from models.numbers.number import Number
from services import erasing
from tests import factories
from tests.tasks.callbacks import ingest_now, kinds

PERSON, OURS = "15551234567", "15550001111"
pytestmark = pytest.mark.usefixtures("clock")


def calls(**members: Any) -> dict[str, Any]:
    """An entry about calls."""
    metadata = {"phone_number_id": "1001", "display_phone_number": f"+{OURS}"}
    change = {"field": "calls", "value": {"metadata": metadata, **members}}
    return {"id": "2001", "time": 1_795_166_999, "changes": [change]}


def call(event: str = "connect", **changes: Any) -> dict[str, Any]:
    """A call of a person."""
    told = {"id": "wacid.A", "from": PERSON, "to": OURS, "event": event}
    return told | {"timestamp": "1795167000", "direction": "USER_INITIATED"} | changes


def told() -> list[dict[str, Any]]:
    """The data of the events about calls."""
    events = Event.select().where(Event.kind == "call.updated").order_by(Event.id)
    return [json.loads(event.payload)["data"] for event in events]


def test_each_change_of_a_call_is_one_event_with_all_that_came(
    account: Account, number: Number
) -> None:
    factories.webhook(account, events=["call.updated"])
    session = {"sdp": "v=0", "deep": {"new": [1]}}
    begun = call(session=session, surprise=True)
    ended = call("terminate", status="COMPLETED", duration=30)
    contacts = [{"wa_id": PERSON, "user_id": "US.1", "profile": {"name": "Ana"}}]
    for _ in range(2):
        ingest_now(calls(calls=[begun, ended], contacts=contacts))
    first, last = told()
    assert first == {
        "id": "wacid.A.connect",
        "callId": "wacid.A",
        "numberId": number.id,
        "direction": "INBOUND",
        "fromNumber": PERSON,
        "toNumber": OURS,
        "event": "connect",
        "status": None,
        "networkTimestamp": "2026-11-20T09:30:00.000Z",
        "contact": {
            "phone": PERSON,
            "userId": "US.1",
            "parentUserId": None,
            "username": None,
            "name": "Ana",
        },
        "details": begun,
    }
    assert (last["id"], last["status"], last["details"]) == (
        "wacid.A.terminate",
        "COMPLETED",
        ended,
    )
    assert Delivery.select().count() == 2


def test_calls_of_the_number_and_their_statuses_go_out(number: Number) -> None:
    ours = {"from": OURS, "to": PERSON}
    status = {"id": "wacid.A", "type": "call", "status": "RINGING", "recipient_id": PERSON}
    ingest_now(calls(calls=[call(**ours, direction="BUSINESS_INITIATED")]))
    ingest_now(calls(calls=[call("terminate", **ours, direction=None)]), calls(statuses=[status]))
    assert {(each["direction"], each["toNumber"]) for each in told()} == {("OUTBOUND", PERSON)}
    assert [each["event"] for each in told()] == ["connect", "terminate", "ringing"]
    assert told()[2]["status"] == "RINGING"
    assert Contact.select().count() == 1
    assert Contact.get().number_id == number.id


def test_two_numbers_may_have_the_same_call(account: Account, number: Number) -> None:
    other = factories.active_number(account, "1002", phone_number="15550002222")
    for entry in (calls(calls=[call()]), calls(calls=[call()])):
        entry["changes"][0]["value"]["metadata"]["phone_number_id"] = "1002"
        ingest_now(calls(calls=[call()]), entry)
    assert {each["numberId"] for each in told()} == {number.id, other.id}
    assert len(told()) == 2


def test_the_events_of_a_call_are_erased_with_the_person(number: Number) -> None:
    ingest_now(calls(calls=[call()]))
    erasing.erase_now(Contact.get(Contact.number == number.id))
    assert kinds() == []


@pytest.mark.usefixtures("number")
def test_a_call_with_nobody_is_an_event_without_a_contact() -> None:
    ingest_now(calls(calls=[call(**{"from": "anonymous"})]))
    [event] = told()
    assert set(event["contact"].values()) == {None}
    assert Contact.select().count() == 0


@pytest.mark.usefixtures("number")
def test_what_is_no_call_is_kept() -> None:
    errors = [{"code": 138013, "title": "Not allowed"}]
    ingest_now(calls(calls=[7, {"event": "connect"}, call()], errors=errors))
    assert [event["id"] for event in told()] == ["wacid.A.connect"]
    assert [row.reason for row in SetAside.select()] == [Reason.UNREADABLE] * 2
    [notice] = Notice.select()
    assert json.loads(notice.value_json)["errors"] == errors


@pytest.mark.usefixtures("account")
def test_a_call_of_an_unknown_number_is_set_aside() -> None:
    ingest_now(calls(calls=[call()]))
    assert [row.reason for row in SetAside.select()] == [Reason.FOREIGN_NUMBER]
