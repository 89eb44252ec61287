"""Gathering: what comes in quick succession goes on in one piece, without a thread that stays.

The first of a burst goes on at once, so that nothing waits when little happens. Those that follow go on
together. A process that ends in good order hands on what it gathered; one that dies loses it, which is as
harmless as any loss of the queue's (design, section 1).
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")

PAUSE_SECONDS = 0.02
# A thread that follows a burst ends after so many pauses that brought nothing. To start one costs far more
# than to let it look again.
MAX_IDLE_PAUSES = 10


class Gatherer(Generic[Item]):
    """Hands items to ``hand_on``, in their order, and within a burst once in ``pause`` seconds.

    ``hand_on`` raises nothing, and may wait for the queue. It runs in the thread of add(), or in one that
    follows the burst; never on an event loop.
    """

    def __init__(
        self, hand_on: Callable[[Sequence[Item]], None], pause: float = PAUSE_SECONDS
    ) -> None:
        self._hand_on = hand_on
        self.pause = pause
        self._lock = threading.Lock()
        self._gathered: list[Item] = []
        self._quiet_from = 0.0
        self._is_followed = False

    def add(self, item: Item) -> None:
        """Hand on an item now or soon. Any thread may call it."""
        with self._lock:
            is_burst = self._is_followed or time.monotonic() < self._quiet_from
            if (is_burst or _is_on_loop()) and self._have_followed(at_once=not is_burst):
                self._gathered.append(item)
                return
            self._quiet_from = time.monotonic() + self.pause
        self._hand_on([item])

    def _have_followed(self, *, at_once: bool) -> bool:
        """Have a thread follow the burst. False when there can be none: the process ends, or has too many."""
        if not self._is_followed:
            # Not a daemon: the end of the process waits for it.
            follower = threading.Thread(target=self._follow, args=(at_once,), name="gather")
            with contextlib.suppress(RuntimeError):
                follower.start()
                self._is_followed = True
        return self._is_followed

    def _follow(self, at_once: bool) -> None:  # noqa: FBT001 - a thread's argument
        idle = 0
        while idle < MAX_IDLE_PAUSES:
            if not at_once:
                time.sleep(self.pause)
            at_once = False
            with self._lock:
                items, self._gathered = self._gathered, []
                idle = 0 if items else idle + 1
                self._is_followed = idle < MAX_IDLE_PAUSES
            if items:
                self._hand_on(items)


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
