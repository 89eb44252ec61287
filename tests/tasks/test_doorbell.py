"""A doorbell: the first ring at once, those of a burst together, none lost and none doubled."""

import multiprocessing
import subprocess
import sys
import threading

import pytest

from contract_tests.waiting import wait_for
from tasks import queue
from tasks.queue import Doorbell
from tests import factories

ALL = 10_000


class Sink:
    """What was put on the queue, in pieces, and by which threads."""

    def __init__(self) -> None:
        self.pieces: list[list[str]] = []
        self.threads: set[threading.Thread] = set()

    def __call__(self, *names: str) -> None:
        """Take a piece."""
        self.pieces.append(list(names))
        self.threads.add(threading.current_thread())

    @property
    def names(self) -> list[str]:
        """All of it."""
        return [name for piece in self.pieces for name in piece]


def test_another_thread_calls_the_queue() -> None:
    sink = Sink()
    Doorbell(sink, ALL).ring("one")
    wait_for(lambda: sink.names == ["one"], "the ring")
    assert threading.current_thread() not in sink.threads


def test_the_rings_of_a_burst_go_together_and_in_order() -> None:
    sink, expected = Sink(), [str(number) for number in range(100)]
    bell = Doorbell(sink, ALL)
    for name in expected:
        bell.ring(name)
    wait_for(lambda: len(sink.names) == 100, "all of them")
    assert sink.names == expected
    # A burst that takes the machine longer than the pause has more pieces, never one for each.
    assert len(sink.pieces) < 20


def test_the_rings_of_many_threads_arrive_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Doorbell, "PAUSE_SECONDS", 0.001)
    sink = Sink()
    bell = Doorbell(sink, ALL)

    def ring(first: int) -> None:
        for number in range(first, first + 500):
            bell.ring(f"{number:04}")

    factories.at_once(*[lambda first=first: ring(first) for first in range(0, 4000, 500)])
    wait_for(lambda: len(sink.names) >= 4000, "all of them")
    assert sorted(sink.names) == [f"{number:04}" for number in range(4000)]


def test_a_queue_that_fails_is_said_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    sink, failures = Sink(), [OSError("broken")]

    def put(*names: str) -> None:
        if failures:
            raise failures.pop()
        sink(*names)

    bell = Doorbell(put, ALL)
    bell.ring("lost")
    wait_for(lambda: "wake-up not queued" in caplog.text, "the failure")
    bell.ring("next")
    wait_for(lambda: sink.names == ["next"], "the next ring")


def test_a_ring_without_a_thread_goes_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    sink = Sink()
    bell = Doorbell(sink, ALL)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        bell.ring("first")
    bell.ring("second")
    wait_for(lambda: sink.names == ["first", "second"], "both")


def test_the_worker_of_the_process_needs_no_queue() -> None:
    sink, woken = Sink(), threading.Event()
    bell = Doorbell(sink, ALL)
    bell.worker = woken.set
    bell.ring()
    assert woken.is_set()
    assert sink.pieces == []


def test_a_process_that_ends_has_queued_its_rings() -> None:
    program = (
        "from tasks.queue import Doorbell\n"
        "Doorbell.PAUSE_SECONDS = 0.3\n"
        "bell = Doorbell(print, 3)\n"
        "for name in 'abc': bell.ring(name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == ["a", "b", "c"]


def test_a_fork_in_the_middle_of_a_burst_rings_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue.Doorbell, "PAUSE_SECONDS", 0.5)
    fork = multiprocessing.get_context("fork")
    heard = fork.SimpleQueue()
    bell = Doorbell(heard.put, 1)
    bell.ring("parent")
    assert heard.get() == "parent"
    child = fork.Process(target=bell.ring, args=("child",))
    child.start()
    assert heard.get() == "child"
    child.join()
