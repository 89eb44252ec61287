"""The doorbell: the first ring is sent at once, a burst is merged, and the last ring is never lost."""

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from contract_tests.waiting import wait_for
from models import doorbells
from tasks.queue import RING_SECONDS, Doorbell
from tasks.spacing import AT_ONCE
from tests import factories
from tests.waiting import PATIENCE


class Sink:
    """Counts the tasks put on the queue, and the threads that put them there."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def __call__(self) -> None:
        """Take one."""
        self.threads.append(threading.current_thread())


NUMBERS = itertools.count()


def _doorbell(put: Callable[[], object]) -> Doorbell:
    bell = Doorbell(doorbells.Doorbell(), f"test_{next(NUMBERS)}")
    bell.put = put
    return bell


def test_another_thread_calls_the_queue() -> None:
    sink = Sink()
    _doorbell(sink).ring()
    wait_for(lambda: sink.threads, "the ring")
    assert threading.current_thread() not in sink.threads


def test_rings_of_a_burst_are_merged() -> None:
    sink = Sink()
    bell = _doorbell(sink)
    for _ in range(100):
        bell.ring()
    wait_for(lambda: len(sink.threads) >= 2, "the first and one for the others")
    # A burst that takes longer than the pause gives more tasks, but never one for each ring.
    assert len(sink.threads) < 20


def test_rings_that_are_rare_wait_for_nothing() -> None:
    rung = threading.Semaphore(0)
    bell, began = _doorbell(rung.release), time.monotonic()
    for _ in range(AT_ONCE):
        bell.ring()
        assert rung.acquire(timeout=PATIENCE)
    assert time.monotonic() - began < RING_SECONDS * AT_ONCE / 2
    for _ in range(2 * AT_ONCE):
        bell.ring()
        assert rung.acquire(timeout=PATIENCE)
    assert time.monotonic() - began >= RING_SECONDS * AT_ONCE


def test_a_ring_is_followed_by_a_task() -> None:
    rung, seen = [0], [0]

    def put() -> None:
        seen[0] = rung[0]

    bell, lock = _doorbell(put), threading.Lock()

    def ring() -> None:
        for _ in range(500):
            with lock:
                rung[0] += 1
            bell.ring()

    factories.at_once(*[ring] * 8)
    wait_for(lambda: seen[0] == 4000, "a task behind the last ring")


def test_a_queue_failure_is_logged_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    sink, failures = Sink(), [OSError("broken")]

    def put() -> None:
        if failures:
            raise failures.pop()
        sink()

    bell = _doorbell(put)
    bell.ring()
    wait_for(lambda: "wake-up not queued" in caplog.text, "the failure")
    bell.ring()
    wait_for(lambda: sink.threads, "the next ring")


def test_a_ring_without_a_thread_goes_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    sink = Sink()
    bell = _doorbell(sink)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        bell.ring()
    bell.ring()
    wait_for(lambda: sink.threads, "the next ring")


def test_the_worker_of_the_process_needs_no_queue() -> None:
    sink, woken = Sink(), threading.Event()
    bell = _doorbell(sink)
    bell.worker = woken.set
    bell.ring()
    assert woken.is_set()
    assert sink.threads == []


def test_a_process_that_ends_has_queued_its_last_ring() -> None:
    program = (
        "from time import sleep\n"
        "from models import doorbells\n"
        "from tasks.queue import Doorbell\n"
        "bell = Doorbell(doorbells.Doorbell(), 'test')\n"
        "bell.put = lambda: sleep(0.3) or print('rung')\n"
        "for _ in 'abc': bell.ring()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == ["rung", "rung"]
