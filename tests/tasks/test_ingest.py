"""Ingesting callbacks: items are independent, and repeated ones are harmless."""

import json
from collections.abc import Sequence

import psycopg
import pytest
from peewee import OperationalError

from handlers.messages import get_message
from models import clock
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import NO_OUTCOME
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages.callback import LEASE_MS, MAX_TRIES, Callback, Reason, SetAside
from models.messages.message import Message, MessageStatus
from models.numbers.notice import Notice
from models.numbers.number import Number, NumberStatus
from networks.registry import explained
from services import ingestion
from tasks import ingest, queue, sweep
from tasks.queue import huey
from tests import factories
from tests.conftest import Clock
from tests.tasks.callbacks import (
    accepted_message,
    account_update,
    ingest_again,
    ingest_now,
    kinds,
    messages,
    refusing_text,
    status_of,
    store,
    text,
)

ACTIVE, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.DISCONNECTED


def _stored(number: Number) -> Number:
    return Number.get_by_id(number.id)


@pytest.mark.usefixtures("clock")
def test_an_inbound_message_is_stored_and_emits_an_event(number: Number) -> None:
    assert ingest_now(messages(messages=[text()])) is None
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
    ingest_now(entry)
    ingest_now(entry)
    assert sorted(kinds()) == ["message.delivered", "message.received", "message.sent"]
    assert Delivery.select().count() == 3
    assert Message.select().count() == 2
    assert [change.status for change in sent.history()] == ["pending", "sent", "delivered"]


def test_one_bad_item_does_not_affect_the_others(number: Number) -> None:
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
    assert callback is not None
    assert callback.tries == 1
    assert "refused" in str(callback.error)


def test_a_bad_item_is_taken_in_once_its_trouble_is_over(number: Number) -> None:
    both = messages(messages=[text("wamid.A"), text("wamid.B", text={"body": "bad"})])
    with refusing_text("bad"):
        ingest_now(both)
    ingest_again()
    assert Callback.select().count() == 0
    assert kinds() == ["message.received"] * 2
    assert number.id == Message.get().number_id


@pytest.mark.usefixtures("number")
def test_callbacks_are_ingested_together_and_one_by_one_where_that_fails() -> None:
    bodies = [text("wamid.A"), text("wamid.B", text={"body": "bad"}), text("wamid.C")]
    callbacks = [store(messages(messages=[body])) for body in bodies]
    with refusing_text("bad"):
        ingest.work_off()
    assert list(Callback.select()) == [callbacks[1]]
    assert kinds() == ["message.received"] * 2


@pytest.mark.parametrize(("seconds", "at_once"), [(0, 1), (60, 3)])
def test_a_transaction_takes_no_further_callback_after_its_time(
    monkeypatch: pytest.MonkeyPatch, number: Number, seconds: float, at_once: int
) -> None:
    """On SQLite all other writers wait for its end."""
    monkeypatch.setattr(ingestion, "MOST_SECONDS", seconds)
    finished: list[int] = []
    finish = Callback.finish

    def note(*callback_ids: str) -> int:
        finished.append(len(callback_ids))
        return finish(*callback_ids)

    monkeypatch.setattr(Callback, "finish", note)
    for n in range(3):
        store(messages(messages=[text(f"wamid.{n}")]))
    ingest.work_off()
    assert finished == [at_once] * (3 // at_once)
    assert Message.select().where(Message.number == number).count() == 3


@pytest.mark.usefixtures("number")
def test_large_callbacks_are_ingested_in_one_round_though_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingest, "MAX_BYTES_TOGETHER", 30)
    claims = list[int]()
    ingesting = ingest._ingest

    def count(callbacks: Sequence[Callback]) -> None:
        claims.append(len(callbacks))
        ingesting(callbacks)

    monkeypatch.setattr(ingest, "_ingest", count)
    for body in (b'{"entry": []}', b'{"entry": []}' + b" " * 30, b"{}", b"{}"):
        Callback.store(body)
    ingest.work_off()
    assert claims == [2, 2]
    assert Callback.oldest_waiting() is None


@pytest.mark.usefixtures("number")
def test_a_callback_that_fails_is_tried_again_for_over_twelve_hours(clock: Clock) -> None:
    callback = store(messages(messages=[text("wamid.B", text={"body": "bad"})]))
    began, tried_at = clock.at, []
    with refusing_text("bad"):
        while not SetAside.waiting(Reason.FAILED):
            tries = Callback.get_by_id(callback.id).tries
            ingest.work_off()
            after = Callback.by_id(callback.id)
            if after is None or after.tries > tries:
                tried_at.append((clock.at - began) // 1_000)
            clock.advance(seconds=1 if clock.at - began < 3_600_000 else 600)
    assert tried_at[:4] == [0, 2, 12, 72]
    assert len(tried_at) == MAX_TRIES
    assert tried_at[-1] > 12 * 3_600


@pytest.mark.usefixtures("number")
def test_an_outage_of_the_database_sets_nothing_aside(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(messages(messages=[text()]))
    with writing():
        Callback.update(tries=MAX_TRIES - 1).execute()

    def fail(*_: object) -> None:
        raise OperationalError("gone") from psycopg.OperationalError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(ingestion, "_ingest_item", fail)
        with pytest.raises(OperationalError):
            ingest.work_off()
    assert list(SetAside.select()) == []
    clock.advance(milliseconds=LEASE_MS)
    with writing():
        Callback.update(tries=MAX_TRIES - 1).execute()
    ingest.work_off()
    assert kinds() == ["message.received"]


@pytest.mark.usefixtures("number")
def test_a_callback_that_kills_its_worker_is_claimed_alone_and_set_aside_after_its_last_try(
    clock: Clock,
) -> None:
    poison, other = store(messages(messages=[text("wamid.A")])), store(messages())
    assert len(Callback.claim_many(LEASE_MS, 10)) == 2, "their worker dies"
    store(messages(messages=[text("wamid.NEW")]))
    clock.advance(milliseconds=LEASE_MS)
    with writing():
        Callback.update(tries=MAX_TRIES).where(Callback.id == poison.id).execute()
    [new] = Callback.claim_many(LEASE_MS, 10)
    assert new.id not in {poison.id, other.id}
    assert [each.id for each in Callback.claim_many(LEASE_MS, 10)] == [poison.id]
    assert [each.id for each in Callback.claim_many(LEASE_MS, 10)] == [other.id]
    assert Callback.claim_many(LEASE_MS, 10) == []
    clock.advance(milliseconds=LEASE_MS)
    ingest.work_off()
    [aside] = SetAside.waiting()
    assert (aside.reason, aside.error) == (Reason.FAILED, NO_OUTCOME)
    assert kinds() == ["message.received"]
    assert ingestion.replay(aside)
    assert kinds() == ["message.received"] * 2


@pytest.mark.usefixtures("number")
def test_callbacks_of_a_killed_worker_do_not_wait_for_a_pause_in_the_traffic(clock: Clock) -> None:
    left = [store(messages(messages=[text(f"wamid.{n}")])) for n in range(3)]
    assert len(Callback.claim_many(LEASE_MS, 10)) == len(left), "their worker dies"
    clock.advance(milliseconds=LEASE_MS)
    sweep.sweep()
    store(messages(messages=[text("wamid.NEW")]))
    ingest.work_off()
    assert Callback.select().count() == 0


@pytest.mark.usefixtures("number")
def test_workers_that_ingest_one_callback_at_once_tell_once() -> None:
    store(messages(messages=[text()]))
    factories.at_once(*[ingest.work_off] * 3)
    assert kinds() == ["message.received"]


@pytest.mark.parametrize("body", [b"{}", b'{"entry":[]}', b'{"entry":[{"changes":[]}]}'])
@pytest.mark.usefixtures("state")
def test_an_empty_callback_is_done(body: bytes) -> None:
    Callback.store(body)
    ingest.work_off()
    assert Callback.select().count() == 0
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
    removed = account_update("PARTNER_REMOVED", "3001", waba_info={"waba_id": "2001"})
    assert ingest_now(removed) is None
    assert (_stored(number).status, _stored(number).due_at) == (ACTIVE, clock.at)


@pytest.mark.usefixtures("number")
def test_every_other_callback_of_the_platform_is_stored_as_a_notice() -> None:
    value = {"display_phone_number": "15550001111", "event": "PIN_CHANGED"}
    assert ingest_now({"id": "2001", "changes": [{"field": "security", "value": value}]}) is None
    [notice] = Notice.select()
    assert (notice.waba_id, notice.field) == ("2001", "security")


def test_a_failure_is_explained_in_its_event_and_in_the_message(number: Number) -> None:
    accepted_message(number)
    errors = [{"code": 131047, "title": "Re-engagement message"}]
    ingest_now(messages(statuses=[status_of("wamid.1", "failed", errors=errors)]))
    expected = {"code": "131047", "message": explained("131047", "Re-engagement message")}
    event = Event.get(Event.kind == "message.failed")
    assert json.loads(event.payload)["data"]["error"] == expected
    read = get_message(number.account_id, event.subject_id)
    assert (read["error"], read["statusHistory"][-1]["error"]) == (expected, expected)
    assert "Send a template" in expected["message"]


def test_a_failed_status_that_says_the_number_is_banned_has_the_platform_asked(
    number: Number,
) -> None:
    accepted_message(number)
    errors = [{"code": 131026}, {"code": 131031, "title": "Account locked"}]
    ingest_now(messages(statuses=[status_of("wamid.1", "failed", errors=errors)]))
    stored = _stored(number)
    assert stored.status == ACTIVE
    assert stored.due_at is not None
    assert stored.due_at <= clock.now()
    assert sorted(kinds()) == ["message.failed", "message.sent"]


def test_a_failed_status_leaves_a_number_alone_that_is_disconnected(number: Number) -> None:
    accepted_message(number)
    with writing():
        number.move_to(DISCONNECTED)
    ingest_now(messages(statuses=[status_of("wamid.1", "failed", errors=[{"code": 131031}])]))
    assert _stored(number).status == DISCONNECTED


@pytest.mark.usefixtures("number")
def test_a_callback_whose_wake_up_was_lost_is_found(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store(messages(messages=[text()]))
    monkeypatch.setattr(huey, "storage", None)
    queue.callbacks.ring()
    assert "wake-up not queued" in caplog.text
    ingest.work_off()
    assert kinds() == ["message.received"]
