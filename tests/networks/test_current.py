"""The event loop for callers of the network without one."""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from networks import current

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
