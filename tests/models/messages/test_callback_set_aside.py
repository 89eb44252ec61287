"""Items set aside: stored once, counted by reason, found by an index."""

from typing import Any

import pytest

from models.database import database, writing
from models.messages.callback import Reason, SetAside
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def _keep(body: bytes = b"{}", reason: Reason = Reason.FAILED, **known: str) -> None:
    with writing():
        SetAside.record(reason, body, (), **known)


def test_an_item_is_set_aside_once_and_shows_the_last_reason() -> None:
    _keep(error="OverflowError: too large")
    _keep(reason=Reason.UNKNOWN_MESSAGE, phone_number_id="1001", wa_message_id="wamid.1")
    [aside] = SetAside.waiting()
    assert (aside.reason, aside.error) == (Reason.UNKNOWN_MESSAGE, None)
    assert (aside.phone_number_id, aside.wa_message_id) == ("1001", "wamid.1")


def test_an_item_that_comes_again_after_it_was_settled_is_set_aside_again() -> None:
    _keep()
    SetAside.waiting()[0].settle()
    assert SetAside.waiting() == []
    _keep()
    assert (len(SetAside.waiting()), SetAside.select().count()) == (1, 2)


def test_items_are_listed_by_reason_page_by_page_oldest_first(clock: Clock) -> None:
    for index in range(5):
        _keep(str(index).encode(), Reason.FAILED if index % 2 else Reason.UNREADABLE)
        clock.advance(seconds=1)
    assert [bytes(row.body) for row in SetAside.waiting()] == [b"0", b"1", b"2", b"3", b"4"]
    assert [bytes(row.body) for row in SetAside.waiting(Reason.FAILED)] == [b"1", b"3"]
    first = SetAside.waiting(limit=2)
    assert [bytes(row.body) for row in SetAside.waiting(after=first[-1].id, limit=2)] == [
        b"2",
        b"3",
    ]


def test_a_settled_item_is_not_counted() -> None:
    _keep()
    [aside] = SetAside.waiting()
    aside.settle()
    assert set(SetAside.counts().values()) == {0}


def _plan(query: Any) -> str:
    sql, values = query.sql()
    return str(database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())


@pytest.mark.sqlite("the words of its query plans")
def test_parked_statuses_and_counts_use_an_index() -> None:
    open_ = SetAside.settled_at.is_null()
    parked = SetAside.select().where(SetAside.wa_message_id == "x", open_)
    assert "USING INDEX set_aside_message" in _plan(parked)
    counted = SetAside.select(SetAside.reason).where(open_).group_by(SetAside.reason)
    assert "USING COVERING INDEX" in _plan(counted)
    assert "SCAN" not in _plan(counted)
