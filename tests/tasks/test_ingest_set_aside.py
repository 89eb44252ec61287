"""Items that cannot be ingested are set aside, and ingested once that is possible."""

import hashlib
import time
from typing import Any

import pytest

from models import clock
from models.accounts.account import Account
from models.database import writing
from models.messages.callback import MAX_TRIES, Callback, Mention, Reason, SetAside
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number, NumberStatus
from networks.interface import Acceptance
from networks.whatsapp.callbacks import NO_ID, NOT_AN_OBJECT
from services import ingestion, message_status
from tasks import ingest
from tests import factories
from tests.conftest import Clock
from tests.tasks.callbacks import (
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

ACTIVE, BANNED, DISCONNECTED = NumberStatus.ACTIVE, NumberStatus.BANNED, NumberStatus.DISCONNECTED


@pytest.mark.parametrize("body", [b"not json", b"[]", b"\xff"])
@pytest.mark.usefixtures("state")
def test_a_callback_that_is_unreadable_is_set_aside(body: bytes) -> None:
    Callback.store(body)
    ingest.work_off()
    assert Callback.select().count() == 0
    [aside] = SetAside.waiting()
    assert (aside.reason, bytes(aside.body)) == (Reason.UNREADABLE, body)
    assert not ingestion.replay(aside)
    assert [row.id for row in SetAside.waiting()] == [aside.id]


@pytest.mark.usefixtures("number")
def test_an_item_that_is_unreadable_is_set_aside_alone() -> None:
    assert ingest_now(messages(messages=[text(), {"type": "text"}, 7])) is None
    assert [(row.reason, row.error) for row in SetAside.waiting()] == [
        (Reason.UNREADABLE, NO_ID),
        (Reason.UNREADABLE, NOT_AN_OBJECT),
    ]
    assert kinds() == ["message.received"]


def _aged(days: float) -> dict[str, Any]:
    """The changes of an item that is this old."""
    return {"timestamp": str(int(time.time() - days * 86_400))}


@pytest.mark.usefixtures("number")
def test_an_item_without_a_time_is_as_old_as_its_entry() -> None:
    untimed = messages(messages=[text(timestamp=None)])
    entry = untimed | {"time": int(time.time() - 9 * 86_400)}
    ingest_now(entry)
    assert [row.reason for row in SetAside.waiting()] == [Reason.TOO_OLD]


@pytest.mark.usefixtures("number")
def test_times_are_compared_with_the_clock_of_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """This machine's clock may be behind that of PostgreSQL."""
    monkeypatch.setattr(clock, "now", lambda: int(time.time() * 1000) + 86_400_000)
    at = int(time.time()) + 80_000
    ingest_now(messages(messages=[text(timestamp=str(at))]))
    assert [row.created_at for row in Message.select()] == [at * 1000]


@pytest.mark.usefixtures("number")
def test_old_items_are_set_aside_and_replayed_only_on_purpose() -> None:
    old = account_update("DISABLED_UPDATE") | {"time": int(time.time() - 9 * 86_400)}
    callback = ingest_now(
        messages(messages=[text("wamid.OLD", **_aged(8.1)), text("wamid.NEW", **_aged(7.9))]),
        messages(statuses=[status_of("wamid.1", "read", **_aged(30))]),
        old,
    )
    assert callback is None
    aside = SetAside.waiting()
    assert [row.wa_message_id for row in aside] == ["wamid.OLD", "wamid.1", None]
    assert {row.reason for row in aside} == {Reason.TOO_OLD}
    assert [message.wa_message_id for message in Message.select()] == ["wamid.NEW"]
    assert ingestion.replay(aside[0])
    assert {m.wa_message_id for m in Message.select()} == {"wamid.NEW", "wamid.OLD"}


@pytest.mark.usefixtures("number")
def test_a_callback_that_waited_here_is_not_too_old(clock: Clock) -> None:
    store(messages(messages=[text()]))
    clock.advance(days=20)
    ingest.work_off()
    assert (SetAside.waiting(), Message.select().count()) == ([], 1)


def test_items_of_numbers_that_are_not_ours_are_set_aside_once(number: Number) -> None:
    entry = messages(
        "9999",
        messages=[text()],
        statuses=[status_of("wamid.1", "sent"), status_of("wamid.1", "x")],
    )
    for _ in range(2):
        assert ingest_now(entry) is None
    assert [(row.reason, row.phone_number_id, row.wa_message_id) for row in SetAside.waiting()] == [
        (Reason.FOREIGN_NUMBER, "9999", "wamid.IN"),
        (Reason.FOREIGN_NUMBER, "9999", "wamid.1"),
    ]
    assert SetAside.counts() == {
        "foreign_number": 2,
        "unknown_message": 0,
        "too_old": 0,
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
    assert not ingestion.replay(aside)
    factories.active_number(account)
    assert ingestion.replay(aside)
    assert (SetAside.waiting(), kinds()) == ([], ["message.received"])


def test_parked_statuses_find_their_message_once_it_is_known(number: Number) -> None:
    message = factories.outbound(number)
    ingest_now(messages(statuses=[status_of("wamid.1", "read"), status_of("wamid.1", "delivered")]))
    assert {row.reason for row in SetAside.waiting()} == {Reason.UNKNOWN_MESSAGE}
    ingestion.match_parked()
    assert len(SetAside.waiting()) == 2
    with writing():
        message_status.record_acceptance(message, Acceptance("wamid.1"))
    ingestion.match_parked()
    assert (Message.get_by_id(message.id).status, SetAside.waiting()) == (MessageStatus.READ, [])
    assert kinds() == ["message.sent", "message.read", "message.delivered"]


@pytest.mark.usefixtures("number")
def test_a_parked_status_stays_when_another_message_becomes_known(account: Account) -> None:
    other = factories.active_number(account, "1002")
    ingest_now(messages(statuses=[status_of("wamid.1", "read")]))
    with writing():
        message_status.record_acceptance(factories.outbound(other), Acceptance("wamid.1"))
    ingestion.match_parked()
    assert len(SetAside.waiting()) == 1, "identifiers are looked at within a number"


@pytest.mark.usefixtures("number")
def test_an_item_that_fails_every_try_is_set_aside_and_the_callback_is_done_with() -> None:
    callback = store(messages(messages=[text("wamid.A"), text("wamid.B", text={"body": "bad"})]))
    with refusing_text("bad"):
        for _ in range(MAX_TRIES):
            assert (Callback.by_id(callback.id), SetAside.waiting()) == (callback, [])
            ingest_again()
        assert Callback.by_id(callback.id) is None
        [aside] = SetAside.waiting(Reason.FAILED)
        assert "refused" in str(aside.error)
        assert not ingestion.replay(aside)
    assert ingestion.replay(aside)
    assert SetAside.waiting() == []
    assert kinds() == ["message.received"] * 2


@pytest.mark.usefixtures("number")
def test_an_item_with_a_word_that_no_index_takes_is_set_aside_alone() -> None:
    # PostgreSQL compresses repetitions.
    word = "".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(256))
    strange = {"data": word, "person": "15551234567"}
    ingest_now(messages(messages=[strange, text()]))
    assert kinds() == ["message.received"]
    assert [row.reason for row in SetAside.select()] == [Reason.UNREADABLE]
    found = [row.identifier for row in Mention.select()]
    assert ("15551234567" in found, max(map(len, found)) < 100) == (True, True)
