"""Messages: a status never moves backwards, and an inbound message is stored once."""

import logging
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peewee import SQL, IntegrityError

from models import clock
from models.accounts.account import Account
from models.database import database, writing
from models.messages.message import (
    IS_UNARRIVED,
    IS_UNSETTLED,
    STATUS_RANK,
    UNARRIVED,
    UNSETTLED,
    Direction,
    Message,
    MessageStatus,
    StatusChange,
)
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.page import Page, in_order
from tests import factories
from tests.conftest import Clock

# The steps of an outbound message, in the normal order.
STEPS = [
    MessageStatus.UNKNOWN,
    MessageStatus.SENT,
    MessageStatus.FAILED,
    MessageStatus.DELIVERED,
    MessageStatus.READ,
]
ERROR = ("131047", "Re-engagement message")
_later = count(1_795_167_000_001)


@settings(
    deadline=None,
    max_examples=200,
    # Each example writes its own message, so the shared database does not matter.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=12))
def test_a_status_only_moves_forwards_whatever_the_order_of_steps(
    number: Number, steps: list[MessageStatus]
) -> None:
    with writing():
        message = Message.write_outbound(
            number, "15551234567", "text", {"body": "Hello"}, contact_id="ctc_1"
        )
        seen = [MessageStatus.PENDING]
        for step in steps:
            before = MessageStatus(message.status)
            error = ERROR if step is MessageStatus.FAILED else None
            moved = message.advance(step, at=next(_later), error=error)
            assert moved == (STATUS_RANK[step] > STATUS_RANK[before])
            assert message.status == (step if moved else before)
            seen += [] if step in seen else [step]
    stored = Message.get_by_id(message.id)
    furthest = max(seen, key=lambda status: STATUS_RANK[status])
    assert stored.status == message.status == furthest
    assert [change.status for change in stored.history()] == sorted(
        seen, key=lambda s: STATUS_RANK[s]
    )
    failed_in_the_end = furthest is MessageStatus.FAILED
    assert (stored.error_code, stored.error_message) == (
        ERROR if failed_in_the_end else (None, None)
    )


def test_every_status_has_a_rank_of_its_own() -> None:
    assert set(STATUS_RANK) == set(MessageStatus)
    assert len(set(STATUS_RANK.values())) == len(MessageStatus)


def test_the_history_keeps_the_networks_times_and_the_order_of_the_steps(
    number: Number, clock: Clock
) -> None:
    message = factories.outbound(number)
    with writing():
        message.advance(MessageStatus.DELIVERED, at=clock.at + 2000)
        message.advance(MessageStatus.SENT, at=clock.at + 1000)
    assert [(change.status, change.at - clock.at) for change in message.history()] == [
        ("pending", 0),
        ("sent", 1000),
        ("delivered", 2000),
    ]


def test_the_networks_identifier_is_stored_from_the_first_step_that_has_it(
    number: Number,
) -> None:
    message = factories.outbound(number)
    with writing():
        message.advance(MessageStatus.UNKNOWN, at=clock.now())
        message.advance(MessageStatus.SENT, at=clock.now(), wa_message_id="wamid.1")
        message.advance(MessageStatus.DELIVERED, at=clock.now(), wa_message_id="wamid.2")
    assert Message.get_by_id(message.id).wa_message_id == "wamid.1"


def test_an_inbound_message_is_written_down_once(number: Number) -> None:
    first = factories.inbound(number)
    assert first is not None
    assert factories.inbound(number) is None
    assert (first.direction, first.status) == (Direction.INBOUND, MessageStatus.RECEIVED)
    assert (first.from_number, first.to_number) == ("15551234567", number.phone_number)
    assert [change.status for change in first.history()] == ["received"]
    assert Message.select().count() == 1


def test_two_workers_that_ingest_one_inbound_message_write_it_down_once(number: Number) -> None:
    written = factories.at_once(*[lambda: factories.inbound(number)] * 4)
    assert len([message for message in written if message]) == 1
    assert Message.select().count() == 1


def test_two_numbers_may_know_the_same_network_identifier(account: Account) -> None:
    assert factories.inbound(factories.active_number(account, "1001")) is not None
    assert factories.inbound(factories.active_number(account, "1002")) is not None


def test_the_database_itself_refuses_a_message_that_is_known(number: Number) -> None:
    first, second = factories.outbound(number), factories.outbound(number)
    with writing():
        first.advance(MessageStatus.SENT, at=clock.now(), wa_message_id="wamid.1")
    with pytest.raises(IntegrityError), writing():
        second.advance(MessageStatus.SENT, at=clock.now(), wa_message_id="wamid.1")
    assert Message.get_by_id(second.id).status == MessageStatus.PENDING


def test_a_page_is_filtered_and_newest_first(account: Account) -> None:
    number = factories.active_number(account, "1001")
    other = factories.active_number(account, "1002")
    sent = [factories.outbound(number) for _ in range(3)]
    received = factories.inbound(number)
    factories.outbound(other)
    page = MessageFilter(number_id=number.id, direction="OUTBOUND").page(account.id, 2, 0)
    assert (page.rows, page.total) == ([sent[2], sent[1]], 3)
    assert MessageFilter(status="received").page(account.id, 20, 0).rows == [received]
    assert MessageFilter().page("acc_other", 20, 0).total == 0


@pytest.mark.sqlite("the words of its query plans")
@pytest.mark.parametrize(
    ("status", "index"),
    [
        (None, "message_account_id_id (account_id=?)"),
        ("read", "message_account_id_id (account_id=?)"),
        ("sent", "message_unarrived (account_id=?)"),
        ("failed", "message_unarrived (account_id=?)"),
    ],
)
def test_a_page_comes_from_an_index_in_its_order_whatever_the_status(
    account: Account, monkeypatch: pytest.MonkeyPatch, status: str | None, index: str
) -> None:
    plans: list[list[str]] = []

    def keep(query: Any, limit: int, offset: int, _tallies: Any, *, key: Any) -> Page[Message]:
        plans.append(_plan(in_order(query, key).limit(limit).offset(offset)))
        return Page([], 0, limit, offset)

    monkeypatch.setattr("models.messages.message_filter.fetch_page", keep)
    MessageFilter(status=status).page(account.id, 50, 0)
    assert plans == [[f"SEARCH t1 USING INDEX {index}"]]


@pytest.mark.parametrize(
    ("condition", "statuses"), [(IS_UNSETTLED, UNSETTLED), (IS_UNARRIVED, UNARRIVED)]
)
def test_the_conditions_of_the_indexes_name_the_statuses_they_stand_for(
    condition: SQL, statuses: tuple[MessageStatus, ...]
) -> None:
    written = ", ".join(f"'{status}'" for status in statuses)
    assert condition.sql == f"status IN ({written})"


@pytest.mark.sqlite("the words of its query plans")
@pytest.mark.usefixtures("state")
def test_unsettled_messages_are_found_without_reading_settled_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, "peewee"):
        assert Message.unsettled_before(MessageStatus.UNKNOWN, clock.now()) == []
    queries: list[Any] = [record.msg for record in caplog.records if record.name == "peewee"]
    [(sql, values)] = queries
    steps = database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", values)
    assert [row[3] for row in steps] == ["SCAN t1 USING INDEX message_unsettled"]


def _plan(query: Any) -> list[str]:
    sql, values = query.sql()
    return [row[3] for row in database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", values)]


def test_deleting_a_message_takes_its_history_along(number: Number) -> None:
    message = factories.outbound(number)
    with writing():
        message.delete_instance()
    assert StatusChange.select().count() == 0
