"""Sending: what follows if the response to the first commit is lost."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from peewee import OperationalError

from services import sending

SEND: Any = object()


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database whose responses can be lost."""

    async def commit(work: Callable[[], Any], *_keys: str) -> Any:
        return work()

    monkeypatch.setattr(sending, "commit", commit)
    monkeypatch.setattr(sending, "answers_at_once", lambda: False)
    monkeypatch.setattr(sending, "PAUSE_SECONDS", 0.01)


class Lost:
    """A first transaction whose response is always lost."""

    def __init__(self, *made: Any) -> None:
        self.made = made
        self.count = 0

    def begin(self, note: Callable[[Any], None]) -> Any:
        """Make its objects, then lose the connection."""
        self.count += 1
        for each in self.made:
            note(each)
        raise OperationalError("lost")


def test_a_send_that_left_nothing_behind_begins_again_three_times_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "_is_stored", lambda *_: False)
    lost = Lost(SEND)
    with pytest.raises(OperationalError):
        asyncio.run(sending._settle(lost.begin, "lock"))
    assert lost.count == 3


def test_a_send_that_is_stored_continues_with_what_its_last_run_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "_is_stored", lambda _, send: send is SEND)
    lost = Lost(object(), SEND)
    assert asyncio.run(sending._settle(lost.begin, "lock")) is SEND
    assert lost.count == 1


@pytest.mark.parametrize(("made", "at_once"), [((), False), ((SEND,), True)])
def test_an_error_that_certainly_left_nothing_behind_is_raised_at_once(
    monkeypatch: pytest.MonkeyPatch, *, made: tuple[Any, ...], at_once: bool
) -> None:
    """Either before anything was written, or on SQLite."""
    monkeypatch.setattr(sending, "answers_at_once", lambda: at_once)
    lost = Lost(*made)
    with pytest.raises(OperationalError):
        asyncio.run(sending._settle(lost.begin, "lock"))
    assert lost.count == 1


def test_a_database_that_stays_away_is_looked_at_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[None] = []

    def look(*_: Any) -> bool:
        looks.append(None)
        raise OperationalError("away")

    monkeypatch.setattr(sending, "_is_stored", look)
    monkeypatch.setattr(sending, "PATIENCE_SECONDS", 0.1)
    with pytest.raises(sending._UndecidedError) as caught:
        asyncio.run(sending._settle(Lost(SEND).begin, "lock"))
    assert caught.value.send is SEND
    assert len(looks) > 1
