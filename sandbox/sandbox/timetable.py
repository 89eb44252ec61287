"""Schedules calls by the network's own clock.

All delays of the protocol are scheduled here, because only this module notices an advanced clock.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import math
from collections.abc import Callable

from sandbox import clock

log = logging.getLogger(__name__)
# The machine's clock may be set, or the machine may sleep: look at the time at least this often.
LONGEST_NAP = 30.0


class Timetable:
    """Calls at given times, in their order; one timer of the event loop for all of them."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = math.inf

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Call ``act`` at ``when`` (Unix seconds), soon when that is past."""
        heapq.heappush(self._entries, (when, next(self._numbers), act))
        if when < self._wakes_at:
            self._set_timer(when)

    async def wait_until(self, when: float) -> None:
        """Return at ``when`` (Unix seconds)."""
        due: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.at(when, lambda: None if due.done() else due.set_result(None))
        await due

    def catch_up(self) -> None:
        """Run all due calls, the earliest first."""
        now = clock.now()
        while self._entries and self._entries[0][0] <= now:
            act = heapq.heappop(self._entries)[2]
            try:
                act()
            except Exception:
                # A call that fails (for example because the disk is full) must not prevent the others.
                log.exception("a scheduled call failed")
        self._wakes_at = math.inf
        if self._entries:
            self._set_timer(self._entries[0][0])

    def close(self) -> None:
        """Stop. Pending work is in the journal."""
        self._entries.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_at = when
        nap = min(max(0.0, when - clock.now()), LONGEST_NAP)
        self._timer = asyncio.get_running_loop().call_later(nap, self.catch_up)
