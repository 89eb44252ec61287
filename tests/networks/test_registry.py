"""The event loop for callers of the network without one."""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from contract_tests.waiting import WAIT_SECONDS
from networks import registry as current
from networks.exceptions import AmbiguousError

THREADS = 8


async def _where() -> int:
    return id(asyncio.get_running_loop())


def test_threads_that_come_together_share_one_loop() -> None:
    together = threading.Barrier(THREADS)
    interval = sys.getswitchinterval()

    def ask() -> int:
        together.wait()
        return current.wait_for(_where())

    current._loop.cache_clear()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            loops = {each.result() for each in [pool.submit(ask) for _ in range(THREADS)]}
    finally:
        sys.setswitchinterval(interval)
    assert len(loops) == 1


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
