"""Callbacks of the network as they are kept until they are ingested."""

import pytest

from models.callback import Callback
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def test_a_callback_is_kept_byte_by_byte() -> None:
    raw = b'{"a":"\\u00e1\\/"}\x00\xff'
    [stored] = Callback.find_waiting(Callback.store(raw)[0].id)
    assert bytes(stored.body) == raw


def test_a_finished_callback_waits_no_longer(clock: Clock) -> None:
    callback = Callback.store(b"{}")[0]
    Callback.finish(callback.id)
    assert not Callback.find_waiting(callback.id)
    assert Callback.waiting_before(clock.at + 1) == []


def test_those_that_wait_come_oldest_first(clock: Clock) -> None:
    made = []
    for _ in range(3):
        made.append(Callback.store(b"{}")[0].id)
        clock.advance(seconds=1)
    assert Callback.waiting_before(clock.at) == made
    assert Callback.waiting_before(clock.at, limit=2) == made[:2]
    assert Callback.waiting_before(clock.at - 1000) == made[:2]


def test_a_failure_is_counted_with_its_reason(clock: Clock) -> None:
    callback = Callback.store(b"{}")[0]
    for _ in range(3):
        callback.note_failure("OverflowError: too large")
    assert Callback.waiting_before(clock.at + 1) == [callback.id]
    [kept] = Callback.find_waiting(callback.id)
    assert (kept.tries, kept.error) == (3, "OverflowError: too large")
