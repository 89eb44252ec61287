"""The networks of a process, and the event loop for their callers without one."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from contract_tests.waiting import WAIT_SECONDS
from networks import registry as current
from networks.exceptions import AmbiguousError
from networks.memory.network import MemoryNetwork

THREADS = 8


async def _where() -> int:
    return id(asyncio.get_running_loop())


def _in_threads(ask: Callable[[], int]) -> set[int]:
    """The results of threads that all start at the same moment."""
    together = threading.Barrier(THREADS)
    interval = sys.getswitchinterval()

    def run() -> int:
        together.wait()
        return ask()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return {each.result() for each in [pool.submit(run) for _ in range(THREADS)]}
    finally:
        sys.setswitchinterval(interval)


def test_threads_that_come_together_share_one_loop() -> None:
    current._loop.cache_clear()
    assert len(_in_threads(lambda: current.wait_for(_where()))) == 1


def test_threads_that_come_together_share_one_network(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[MemoryNetwork] = []

    def open_slowly() -> MemoryNetwork:
        time.sleep(0.05)
        opened.append(MemoryNetwork())
        return opened[-1]

    monkeypatch.setitem(current.NETWORKS, "slow", open_slowly)
    assert _in_threads(lambda: id(current.get_network("slow"))) == {id(opened[0])}


def test_a_call_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "MOST_SECONDS", 0.05)
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Future()
        finally:
            ended.set()

    with pytest.raises(AmbiguousError):
        current.wait_for(hang())
    assert ended.wait(WAIT_SECONDS)
