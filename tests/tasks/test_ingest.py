"""Ingesting callbacks: each item by itself, and as often as it comes (design, section 2.2)."""

import json
import threading

import pytest

from models.account import Account
from models.callback import Callback
from models.database import writing
from models.delivery import Delivery
from models.event import Event
from models.message import Message
from models.message_status import MessageStatus
from models.notice import Notice
from models.number import Number, NumberStatus
from models.set_aside import SetAside
from tasks import ingest, queue
from tasks.queue import huey
from tests import factories
from tests.conftest import Clock
from tests.tasks.told import (
    accepted_message,
    account_update,
    ingest_now,
    kinds,
    messages,
    refusing_text,
    status_of,
    store,
    text,
)
from tests.waiting import until

ACTIVE, BANNED, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.BANNED, NumberStatus.DISCONNECTED


def _stored(number: Number) -> Number:
    return Number.get_by_id(number.id)


def test_an_inbound_message_is_kept_and_told(number: Number) -> None:
    callback = ingest_now(messages(messages=[text()]))
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
    sent = accepted_message(number)
    entry = messages(messages=[text()], statuses=[status_of("wamid.1", "delivered")])
    callback = ingest_now(entry)
    ingest.ingest_callback.call_local(callback.id)
    ingest_now(entry)
    assert sorted(kinds()) == ["message.delivered", "message.received", "message.sent"]
    assert Delivery.select().count() == 3
    assert Message.select().count() == 2
    assert [change.status for change in sent.history()] == ["pending", "sent", "delivered"]


def test_one_bad_item_leaves_the_others_alone(number: Number) -> None:
    sent = accepted_message(number)
    bad = text("wamid.BAD", text={"body": "bad"})
    with refusing_text("bad"):
        callback = ingest_now(
            messages(messages=[text("wamid.A"), bad, text("wamid.B")]),
            messages(statuses=[status_of("wamid.1", "read")]),
        )
    received = Message.select().where(Message.direction == "INBOUND").order_by(Message.id)
    assert [message.wa_message_id for message in received] == ["wamid.A", "wamid.B"]
    assert Message.get_by_id(sent.id).status == MessageStatus.READ
    assert kinds().count("message.received") == 2
    assert (callback.ingested_at, callback.tries) == (None, 1)
    assert callback.error is not None
    assert "refused" in callback.error


def test_a_bad_item_is_taken_in_once_its_trouble_is_over(number: Number) -> None:
    both = messages(messages=[text("wamid.A"), text("wamid.B", text={"body": "bad"})])
    with refusing_text("bad"):
        callback = ingest_now(both)
    ingest.ingest_callback.call_local(callback.id)
    assert Callback.get_by_id(callback.id).ingested_at is not None
    assert kinds() == ["message.received"] * 2
    assert number.id == Message.get().number_id


@pytest.mark.usefixtures("number")
def test_of_callbacks_in_one_task_those_that_fail_are_tried_again_alone() -> None:
    bodies = [text("wamid.A"), text("wamid.B", text={"body": "bad"}), text("wamid.C")]
    good, bad, late = (store(messages(messages=[body])) for body in bodies)
    ingest.ingest_callback.call_local(good.id)
    with refusing_text("bad"):
        ingest.ingest_callback.call_local(good.id, bad.id, late.id)
    assert [each.id for each in Callback.find_waiting(good.id, bad.id, late.id)] == [bad.id]
    assert kinds() == ["message.received"] * 2


@pytest.mark.usefixtures("state")
def test_the_callbacks_of_a_burst_are_queued_in_few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "Thread", threading.Thread)
    monkeypatch.setattr(queue.Doorbell, "PAUSE_SECONDS", 0.2)
    sent = [f"cb_{number:02d}" for number in range(26)]
    ingest.bell.ring(sent[0])
    until(lambda: len(huey) >= 1, "the first")
    for callback_id in sent[1:]:
        ingest.bell.ring(callback_id)
    until(lambda: len(huey) >= 4, "all tasks")
    tasks = [huey.dequeue().args for _ in range(len(huey))]
    assert [len(args) for args in tasks] == [1, 10, 10, 5]
    assert [callback_id for args in tasks for callback_id in args] == sent


@pytest.mark.usefixtures("number")
def test_workers_that_ingest_one_callback_at_once_tell_once() -> None:
    callback = store(messages(messages=[text()]))
    factories.at_once(*[lambda: ingest.ingest_callback.call_local(callback.id)] * 3)
    assert kinds() == ["message.received"]


@pytest.mark.parametrize("body", [b"{}", b'{"entry":[]}', b'{"entry":[{"changes":[]}]}'])
@pytest.mark.usefixtures("state")
def test_a_callback_that_says_nothing_is_done_with(body: bytes) -> None:
    callback = Callback.store(body)[0]
    ingest.ingest_callback.call_local(callback.id)
    assert Callback.get_by_id(callback.id).ingested_at is not None
    assert SetAside.waiting() == []


def test_a_status_finds_a_message_whose_answer_was_lost(number: Number) -> None:
    message = factories.outbound(number)
    ingest_now(
        messages(statuses=[status_of("wamid.1", "delivered", biz_opaque_callback_data=message.id)])
    )
    stored = Message.get_by_id(message.id)
    assert (stored.status, stored.wa_message_id) == (MessageStatus.DELIVERED, "wamid.1")
    assert kinds() == ["message.sent", "message.delivered"]


def test_a_status_reaches_its_message_after_the_number_went_to_another_account(
    number: Number,
) -> None:
    message = accepted_message(number)
    with writing():
        number.move_to(DISCONNECTED)
    factories.active_number(Account.open("Rival", "pro"))
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))
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
    message = accepted_message(number)
    ingest_now(messages(statuses=[status_of("wamid.1", word, errors=[{"code": 131049}])]))
    assert Message.get_by_id(message.id).status == status
    assert kind in kinds()


@pytest.mark.usefixtures("number")
def test_an_item_without_a_time_happened_when_it_came(clock: Clock) -> None:
    ingest_now(messages(messages=[text(timestamp=None)]))
    assert Message.get().created_at == clock.at


def test_an_account_update_has_the_numbers_of_the_account_checked(
    number: Number, clock: Clock
) -> None:
    callback = ingest_now(account_update("PARTNER_REMOVED", "3001", waba_info={"waba_id": "2001"}))
    assert callback.ingested_at is not None
    assert (_stored(number).status, _stored(number).check_due_at) == (ACTIVE, clock.at)


@pytest.mark.usefixtures("number")
def test_whatever_else_the_platform_tells_is_kept_as_a_notice() -> None:
    value = {"display_phone_number": "15550001111", "event": "PIN_CHANGED"}
    callback = ingest_now({"id": "2001", "changes": [{"field": "security", "value": value}]})
    assert callback.ingested_at is not None
    [notice] = Notice.select()
    assert (notice.waba_id, notice.field) == ("2001", "security")


def test_a_failed_status_says_the_same_of_the_number_as_an_answer(number: Number) -> None:
    message = accepted_message(number)
    errors = [{"code": 131026}, {"code": 131031, "title": "Account locked"}]
    entry = messages(statuses=[status_of("wamid.1", "failed", errors=errors)])
    ingest_now(entry)
    assert _stored(number).status == BANNED
    assert sorted(kinds()) == ["message.failed", "message.sent", "number.banned"]
    with writing():
        _stored(number).move_to(ACTIVE)
    ingest_now(entry)
    assert _stored(number).status == ACTIVE, "old news ban nobody again"
    assert message.number_id == number.id


def test_a_failed_status_leaves_a_number_alone_that_is_disconnected(number: Number) -> None:
    accepted_message(number)
    with writing():
        number.move_to(DISCONNECTED)
    ingest_now(messages(statuses=[status_of("wamid.1", "failed", errors=[{"code": 131031}])]))
    assert _stored(number).status == DISCONNECTED


@pytest.mark.usefixtures("number")
def test_a_callback_that_cannot_be_queued_is_left_to_the_sweep(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    callback = store(messages(messages=[text()]))
    monkeypatch.setattr(huey, "storage", None)
    ingest.bell.ring(callback.id)
    assert "wake-up not queued" in caplog.text
    assert Callback.find_waiting(callback.id)


@pytest.mark.usefixtures("number")
def test_a_queued_task_carries_the_callbacks_identifier_only() -> None:
    callback = store(messages(messages=[text()]))
    ingest.bell.ring(callback.id)
    task = huey.dequeue()
    assert (task.args, task.kwargs) == ((callback.id,), {})
