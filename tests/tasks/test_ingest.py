"""Ingesting callbacks: each item by itself, and as often as it comes (design, section 2.2)."""

import json
from typing import Any

import pytest

from models.account import Account
from models.callback import Callback
from models.database import database, writing
from models.delivery import Delivery
from models.event import Event
from models.message import Message, MessageStatus
from models.number import Number, NumberStatus
from tasks import ingest, outcome
from tasks.queue import huey
from tests import factories
from tests.conftest import Clock

ACTIVE, BANNED, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.BANNED, NumberStatus.DISCONNECTED


def _text(wamid: str = "wamid.IN", **changes: Any) -> dict[str, Any]:
    message = {"from": "15551234567", "id": wamid, "timestamp": "1795167001", "type": "text"}
    return message | {"text": {"body": "Hi"}} | changes


def _status(wamid: str, status: str, **changes: Any) -> dict[str, Any]:
    return {"id": wamid, "status": status, "timestamp": "1795167002"} | changes


def _messages(phone_number_id: str = "1001", **arrays: Any) -> dict[str, Any]:
    value = {"metadata": {"phone_number_id": phone_number_id}, **arrays}
    return {"id": "2001", "changes": [{"field": "messages", "value": value}]}


def _account_update(event: str, waba_id: str = "2001", **value: Any) -> dict[str, Any]:
    change = {"field": "account_update", "value": {"event": event, **value}}
    return {"id": waba_id, "changes": [change]}


def _ban(state: str) -> dict[str, Any]:
    return _account_update("DISABLED_UPDATE", ban_info={"waba_ban_state": state})


def _store(*entries: dict[str, Any]) -> Callback:
    return Callback.store(json.dumps({"entry": entries}).encode())


def _ingest(*entries: dict[str, Any]) -> Callback:
    callback = _store(*entries)
    ingest.ingest_callback.call_local(callback.id)
    return Callback.get_by_id(callback.id)


def _kinds() -> list[str]:
    return [event.kind for event in Event.select().order_by(Event.id)]


def _sent(number: Number, wamid: str = "wamid.1") -> Message:
    message = factories.outbound(number)
    with writing():
        return outcome.record_acceptance(message, wamid)


def _stored(number: Number) -> Number:
    return Number.get_by_id(number.id)


def _refuse_text(text: str) -> None:
    """Make one inbound text such that the database does not take it."""
    with writing():
        database.execute_sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON message WHEN NEW.body_json LIKE "
            f"'%{text}%' BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )


def test_an_inbound_message_is_kept_and_told(number: Number) -> None:
    callback = _ingest(_messages(messages=[_text()]))
    assert callback.ingested_at is not None
    [message] = Message.select()
    assert (message.number_id, message.body, message.status) == (
        number.id,
        {"body": "Hi"},
        MessageStatus.RECEIVED,
    )
    [event] = Event.select()
    told = json.loads(event.payload)
    assert (told["event"], told["data"]["id"]) == ("message.received", message.id)
    assert told["data"]["direction"] == "INBOUND"
    assert told["data"]["createdAt"] == told["timestamp"] == "2026-11-20T09:30:01.000Z"


def test_ingesting_again_changes_nothing(account: Account, number: Number) -> None:
    factories.webhook(account)
    sent = _sent(number)
    entry = _messages(messages=[_text()], statuses=[_status("wamid.1", "delivered")])
    callback = _ingest(entry)
    ingest.ingest_callback.call_local(callback.id)
    _ingest(entry)
    assert sorted(_kinds()) == ["message.delivered", "message.received", "message.sent"]
    assert Delivery.select().count() == 3
    assert Message.select().count() == 2
    assert [change.status for change in sent.history()] == ["pending", "sent", "delivered"]


def test_one_bad_item_leaves_the_others_alone(number: Number) -> None:
    _refuse_text("bad")
    sent = _sent(number)
    bad = _text("wamid.BAD", text={"body": "bad"})
    callback = _ingest(
        _messages(messages=[_text("wamid.A"), bad, _text("wamid.B")]),
        _messages(statuses=[_status("wamid.1", "read")]),
    )
    received = Message.select().where(Message.direction == "INBOUND").order_by(Message.id)
    assert [message.wa_message_id for message in received] == ["wamid.A", "wamid.B"]
    assert Message.get_by_id(sent.id).status == MessageStatus.READ
    assert _kinds().count("message.received") == 2
    assert (callback.ingested_at, callback.tries) == (None, 1)
    assert callback.error is not None
    assert "refused" in callback.error


def test_a_bad_item_is_taken_in_once_its_trouble_is_over(number: Number) -> None:
    _refuse_text("bad")
    callback = _ingest(
        _messages(messages=[_text("wamid.A"), _text("wamid.B", text={"body": "bad"})])
    )
    with writing():
        database.execute_sql("DROP TRIGGER refuse")
    ingest.ingest_callback.call_local(callback.id)
    assert Callback.get_by_id(callback.id).ingested_at is not None
    assert _kinds() == ["message.received"] * 2
    assert number.id == Message.get().number_id


@pytest.mark.usefixtures("number")
def test_workers_that_ingest_one_callback_at_once_tell_once() -> None:
    callback = _store(_messages(messages=[_text()]))
    factories.at_once(*[lambda: ingest.ingest_callback.call_local(callback.id)] * 3)
    assert _kinds() == ["message.received"]


@pytest.mark.parametrize("body", [b"not json", b"[]", b"{}", b'{"entry":[]}'])
@pytest.mark.usefixtures("database_path")
def test_a_callback_that_says_nothing_is_done_with(body: bytes) -> None:
    callback = Callback.store(body)
    ingest.ingest_callback.call_local(callback.id)
    assert Callback.get_by_id(callback.id).ingested_at is not None


def test_news_of_unknown_numbers_and_messages_is_passed_over(number: Number) -> None:
    callback = _ingest(
        _messages("9999", messages=[_text()], statuses=[_status("wamid.1", "sent")]),
        _messages(statuses=[_status("wamid.unknown", "sent"), _status("wamid.1", "warning")]),
        _account_update("ACCOUNT_DELETED", waba_id="9999"),
    )
    assert callback.ingested_at is not None
    assert (_kinds(), Message.select().count()) == ([], 0)
    assert _stored(number).status == ACTIVE


def test_a_status_finds_a_message_whose_answer_was_lost(number: Number) -> None:
    message = factories.outbound(number)
    _ingest(
        _messages(statuses=[_status("wamid.1", "delivered", biz_opaque_callback_data=message.id)])
    )
    stored = Message.get_by_id(message.id)
    assert (stored.status, stored.wa_message_id) == (MessageStatus.DELIVERED, "wamid.1")
    assert _kinds() == ["message.sent", "message.delivered"]


def test_a_status_reaches_its_message_after_the_number_went_to_another_account(
    number: Number,
) -> None:
    message = _sent(number)
    with writing():
        number.move_to(DISCONNECTED)
    factories.active_number(Account.open("Rival", "pro"))
    _ingest(_messages(statuses=[_status("wamid.1", "read")]))
    assert Message.get_by_id(message.id).status == MessageStatus.READ
    assert {event.account_id for event in Event.select()} == {number.account_id}


@pytest.mark.parametrize(
    ("word", "status", "kind"),
    [
        ("sent", "sent", "message.sent"),
        ("delivered", "delivered", "message.delivered"),
        ("read", "read", "message.read"),
        ("played", "read", "message.read"),
        ("failed", "failed", "message.failed"),
    ],
)
def test_a_status_of_the_network_becomes_one_of_ours(
    number: Number, word: str, status: str, kind: str
) -> None:
    message = _sent(number)
    _ingest(_messages(statuses=[_status("wamid.1", word, errors=[{"code": 131049}])]))
    assert Message.get_by_id(message.id).status == status
    assert kind in _kinds()


@pytest.mark.usefixtures("number")
def test_an_item_without_a_time_happened_when_it_came(clock: Clock) -> None:
    _ingest(_messages(messages=[_text(timestamp=None)]))
    assert Message.get().created_at == clock.at


@pytest.mark.parametrize(
    ("before", "entry", "after", "kinds"),
    [
        (ACTIVE, _ban("DISABLE"), BANNED, ["number.banned"]),
        (ACTIVE, _ban("SCHEDULE_FOR_DISABLE"), ACTIVE, []),
        (BANNED, _ban("REINSTATE"), ACTIVE, ["number.activated"]),
        (ACTIVE, _ban("REINSTATE"), ACTIVE, []),
        (ACTIVE, _account_update("PARTNER_REMOVED"), DISCONNECTED, ["number.disconnected"]),
        (ACTIVE, _account_update("PARTNER_APP_UNINSTALLED"), DISCONNECTED, ["number.disconnected"]),
        (ACTIVE, _account_update("ACCOUNT_OFFBOARDED"), DISCONNECTED, ["number.disconnected"]),
        (ACTIVE, _account_update("ACCOUNT_DELETED"), DISCONNECTED, ["number.disconnected"]),
        (DISCONNECTED, _account_update("ACCOUNT_RECONNECTED"), ACTIVE, ["number.activated"]),
        (ACTIVE, _account_update("ACCOUNT_VIOLATION"), ACTIVE, []),
        (ACTIVE, _account_update("ACCOUNT_RESTRICTION", restriction_info=[]), ACTIVE, []),
        (NumberStatus.PROVISIONING, _ban("DISABLE"), NumberStatus.PROVISIONING, []),
        (NumberStatus.PROVISIONING, _ban("REINSTATE"), NumberStatus.PROVISIONING, []),
    ],
)
def test_an_account_update_moves_its_numbers(
    number: Number, before: NumberStatus, entry: dict[str, Any], after: str, kinds: list[str]
) -> None:
    with writing():
        number.move_to(before)
    _ingest(entry)
    _ingest(entry)
    assert (_stored(number).status, _kinds()) == (after, kinds)


def test_an_account_update_moves_every_number_of_the_account_and_no_other(
    account: Account,
) -> None:
    numbers = [factories.active_number(account, str(i)) for i in range(2)]
    other = factories.active_number(account, "9", waba_id="2002")
    _ingest(_account_update("PARTNER_REMOVED", "3001", waba_info={"waba_id": "2001"}))
    assert [_stored(number).status for number in numbers] == [DISCONNECTED] * 2
    assert _stored(other).status == ACTIVE
    told = [json.loads(event.payload)["data"] for event in Event.select().order_by(Event.id)]
    assert [(data["id"], data["status"]) for data in told] == [
        (number.id, "DISCONNECTED") for number in numbers
    ]


@pytest.mark.parametrize("state", ["DISABLE", "REINSTATE"])
def test_an_account_update_leaves_a_number_alone_that_now_is_another_accounts(
    number: Number, state: str
) -> None:
    with writing():
        number.move_to(DISCONNECTED)
    rival = factories.active_number(Account.open("Rival", "pro"))
    with writing():
        rival.move_to(BANNED if state == "REINSTATE" else ACTIVE)
    callback = _ingest(_ban(state))
    assert callback.ingested_at is not None
    assert _stored(number).status == DISCONNECTED
    assert _stored(rival).status == (ACTIVE if state == "REINSTATE" else BANNED)


@pytest.mark.usefixtures("number")
def test_a_callback_that_cannot_be_queued_is_left_to_the_sweep(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    callback = _store(_messages(messages=[_text()]))
    monkeypatch.setattr(huey, "storage", None)
    ingest.enqueue(callback.id)
    assert f"callback {callback.id} not queued" in caplog.text
    assert Callback.find_waiting(callback.id) is not None


@pytest.mark.usefixtures("number")
def test_a_queued_task_carries_the_callbacks_identifier_only() -> None:
    callback = _store(_messages(messages=[_text()]))
    ingest.enqueue(callback.id)
    task = huey.dequeue()
    assert (task.args, task.kwargs) == ((callback.id,), {})
