"""Items that cannot be taken in are set aside, and taken in when they can be."""

import threading

import pytest

from models.account import Account
from models.callback import Callback
from models.database import database, writing
from models.message import Message
from models.message_status import MessageStatus
from models.number import Number, NumberStatus
from models.set_aside import Reason, SetAside
from networks.callbacks import StatusUpdate
from tasks import ingest, outcome
from tests import factories
from tests.tasks.told import (
    ingest_now,
    kinds,
    messages,
    refusing_text,
    status_of,
    store,
    text,
)

ACTIVE, BANNED, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.BANNED, NumberStatus.DISCONNECTED


@pytest.mark.parametrize("body", [b"not json", b"[]", b"\xff"])
@pytest.mark.usefixtures("state")
def test_a_callback_that_is_unreadable_is_set_aside(body: bytes) -> None:
    callback = Callback.store(body)[0]
    ingest.ingest_callback.call_local(callback.id)
    assert Callback.get_by_id(callback.id).ingested_at is not None
    [aside] = SetAside.waiting()
    assert (aside.reason, bytes(aside.body)) == (Reason.UNREADABLE, body)
    assert not ingest.replay(aside)
    assert [row.id for row in SetAside.waiting()] == [aside.id]


@pytest.mark.usefixtures("number")
def test_an_item_that_is_unreadable_is_set_aside_alone() -> None:
    callback = ingest_now(messages(messages=[text(), {"type": "text"}, 7]))
    assert (callback.ingested_at is not None, callback.tries) == (True, 0)
    assert [(row.reason, row.error) for row in SetAside.waiting()] == [
        (Reason.UNREADABLE, "The item has no id."),
        (Reason.UNREADABLE, "The item is not an object."),
    ]
    assert kinds() == ["message.received"]


def test_items_of_numbers_that_are_not_ours_are_set_aside_once(number: Number) -> None:
    entry = messages(
        "9999",
        messages=[text()],
        statuses=[status_of("wamid.1", "sent"), status_of("wamid.1", "x")],
    )
    callback = ingest_now(entry)
    ingest_now(entry)
    assert callback.ingested_at is not None
    assert [(row.reason, row.phone_number_id, row.wa_message_id) for row in SetAside.waiting()] == [
        (Reason.FOREIGN_NUMBER, "9999", "wamid.IN"),
        (Reason.FOREIGN_NUMBER, "9999", "wamid.1"),
    ]
    assert SetAside.counts() == {
        "foreign_number": 2,
        "unknown_message": 0,
        "failed": 0,
        "unreadable": 0,
    }
    assert (kinds(), Message.select().count(), Number.get_by_id(number.id).status) == (
        [],
        0,
        NumberStatus.ACTIVE,
    )


def test_an_item_of_a_number_that_became_ours_is_replayed(account: Account) -> None:
    ingest_now(messages(messages=[text()]))
    [aside] = SetAside.waiting()
    assert not ingest.replay(aside)
    factories.active_number(account)
    assert ingest.replay(aside)
    assert (SetAside.waiting(), kinds()) == ([], ["message.received"])


def test_a_parked_status_finds_its_message_when_the_answer_comes(number: Number) -> None:
    message = factories.outbound(number)
    ingest_now(messages(statuses=[status_of("wamid.1", "read"), status_of("wamid.1", "delivered")]))
    assert {row.reason for row in SetAside.waiting()} == {Reason.UNKNOWN_MESSAGE}
    assert len(SetAside.waiting()) == 2
    with writing():
        fresh = outcome.record_acceptance(message, "wamid.1")
    assert (fresh.status, SetAside.waiting()) == (MessageStatus.READ, [])
    assert kinds() == ["message.sent", "message.read", "message.delivered"]


def test_a_parked_status_finds_its_message_when_another_status_names_it(number: Number) -> None:
    message = factories.outbound(number)
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))
    named = status_of("wamid.1", "delivered", biz_opaque_callback_data=message.id)
    ingest_now(messages(statuses=[named]))
    assert (Message.get_by_id(message.id).status, SetAside.waiting()) == (MessageStatus.READ, [])
    assert sorted(kinds()) == ["message.delivered", "message.read", "message.sent"]


@pytest.mark.usefixtures("number")
def test_a_parked_status_stays_when_another_message_becomes_known(account: Account) -> None:
    other = factories.active_number(account, "1002")
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))
    with writing():
        outcome.record_acceptance(factories.outbound(other), "wamid.1")
    assert len(SetAside.waiting()) == 1, "identifiers are looked at within a number"


def test_a_parked_status_that_fails_keeps_no_acceptance_from_being_recorded(
    number: Number, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    message = factories.outbound(number)
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))

    def fail(*_: object) -> None:
        raise OverflowError

    with monkeypatch.context() as broken, writing():
        broken.setattr(outcome, "_apply", fail)
        fresh = outcome.record_acceptance(message, "wamid.1")
    assert (fresh.status, len(SetAside.waiting())) == (MessageStatus.SENT, 1)
    assert "was not matched" in caplog.text
    ingest.match_parked()
    assert (Message.get_by_id(message.id).status, SetAside.waiting()) == (MessageStatus.READ, [])
    assert kinds() == ["message.sent", "message.read"]


def test_an_answer_that_comes_while_a_status_looks_for_its_message_in_vain_loses_nothing(
    number: Number, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = factories.outbound(number)
    record_status = outcome.record_status

    def accept() -> None:
        with writing():
            outcome.record_acceptance(message, "wamid.1")
        database.close()

    answer = threading.Thread(target=accept)

    def look_then_be_overtaken(update: StatusUpdate) -> bool:
        found = record_status(update)
        assert not found
        answer.start()
        # Long enough for the answer to be recorded, if it were allowed to be.
        answer.join(0.2)
        return found

    monkeypatch.setattr(outcome, "record_status", look_then_be_overtaken)
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))
    answer.join()
    assert (Message.get_by_id(message.id).status, SetAside.waiting()) == (MessageStatus.READ, [])
    assert kinds() == ["message.sent", "message.read"]


@pytest.mark.usefixtures("number")
def test_an_item_that_fails_every_try_is_set_aside_and_the_callback_is_done_with() -> None:
    callback = store(messages(messages=[text("wamid.A"), text("wamid.B", text={"body": "bad"})]))
    with refusing_text("bad"):
        for _ in range(ingest.MAX_TRIES):
            assert (Callback.get_by_id(callback.id).ingested_at, SetAside.waiting()) == (None, [])
            ingest.ingest_callback.call_local(callback.id)
        assert Callback.get_by_id(callback.id).ingested_at is not None
        [aside] = SetAside.waiting(Reason.FAILED)
        assert "refused" in str(aside.error)
        assert not ingest.replay(aside)
    assert ingest.replay(aside)
    assert SetAside.waiting() == []
    assert kinds() == ["message.received"] * 2
