"""Gathering: the first at once, the others of a burst together, none lost and none doubled."""

import subprocess
import sys
import threading
from collections.abc import Sequence

import pytest

from contract_tests.waiting import wait_for
from tasks.gathering import Gatherer
from tests import factories

PAUSE = 0.05


class Sink:
    """What was handed on, in pieces."""

    def __init__(self) -> None:
        self.pieces: list[list[int]] = []

    def __call__(self, items: Sequence[int]) -> None:
        """Take a piece."""
        self.pieces.append(list(items))

    @property
    def items(self) -> list[int]:
        """All of it."""
        return [item for piece in self.pieces for item in piece]


def test_the_first_goes_on_at_once_in_the_thread_that_brings_it() -> None:
    threads: list[threading.Thread] = []
    Gatherer[int](lambda _: threads.append(threading.current_thread())).add(1)
    assert threads == [threading.current_thread()]


def test_those_that_follow_go_on_together_and_in_order() -> None:
    sink = Sink()
    gatherer = Gatherer(sink, PAUSE)
    for item in range(100):
        gatherer.add(item)
    wait_for(lambda: len(sink.items) == 100, "all of them")
    assert sink.items == list(range(100))
    assert sink.pieces[0] == [0]
    # A burst that takes the machine longer than the pause has more pieces, never one for each.
    assert len(sink.pieces) < 20


def test_the_first_after_the_pause_goes_on_at_once_again() -> None:
    sink = Sink()
    gatherer = Gatherer(sink, 0)
    gatherer.add(1)
    gatherer.add(2)
    assert sink.pieces == [[1], [2]]


def test_what_many_threads_bring_is_handed_on_once() -> None:
    sink = Sink()
    gatherer = Gatherer(sink, 0.001)

    def bring(first: int) -> None:
        for item in range(first, first + 500):
            gatherer.add(item)

    factories.at_once(*[lambda first=first: bring(first) for first in range(0, 4000, 500)])
    wait_for(lambda: len(sink.items) >= 4000, "all of them")
    assert sorted(sink.items) == list(range(4000))


def test_where_no_thread_can_begin_each_item_goes_on_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    sink = Sink()
    gatherer = Gatherer(sink, 60)
    for item in range(3):
        gatherer.add(item)
    assert sink.pieces == [[0], [1], [2]]


def test_a_process_that_ends_hands_on_what_it_gathered() -> None:
    program = (
        "from tasks.gathering import Gatherer\n"
        "gatherer = Gatherer(lambda items: print(*items), 0.3)\n"
        "for item in (1, 2, 3): gatherer.add(item)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == ["1", "2", "3"]
