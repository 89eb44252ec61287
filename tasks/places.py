"""When the messages of a broadcast leave: each at its place in the pace that all workers share.

After a pause of this process (a busy machine, a slow network), all messages that are due would leave at
once, in addition to those of the other workers. So a message that is too late for its place gets another one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Self

from models import clock
from models.database.outage import UNAVAILABLE
from models.numbers.pace import Reserved
from services.broadcast_pace import LEAD_SECONDS

logger = logging.getLogger(__name__)

# How late a message may leave, in seconds. In any second at most this part of the rate is added to it.
LATEST_SECONDS = 0.04
# The pause after a failure of the database.
FAILURE_SECONDS = 1.0


class Places(NamedTuple):
    """The first place, by the time of the event loop, and the seconds from each to the next."""

    first: float
    interval: float

    @classmethod
    def of(cls, reserved: Reserved) -> Self:
        """Places that were reserved, in a coroutine."""
        wait = (reserved.first_at - clock.now()) / 1000
        return cls(asyncio.get_running_loop().time() + wait, reserved.interval)

    def at(self, position: int) -> float:
        """The time of a place."""
        return self.first + position * self.interval


class Turns:
    """The turns of one broadcast's messages in this worker.

    ``reserve`` reserves so many places, the first at least so many seconds ahead.
    """

    def __init__(self, reserve: Callable[[int, float], Awaitable[Reserved]]) -> None:
        self._reserve = reserve
        self._lead = LEAD_SECONDS
        # The messages that are late, and the reservation of their other places.
        self._late = 0
        self._moved: asyncio.Task[Places] | None = None

    @asynccontextmanager
    async def turn(
        self, place: float, room: AbstractAsyncContextManager[None]
    ) -> AsyncIterator[None]:
        """Wait for the place, then for ``room``. The block runs at once, or at a later place."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(place - loop.time())
            async with room:
                if loop.time() <= place + LATEST_SECONDS:
                    yield
                    return
            place = await self._another()

    async def _another(self) -> float:
        """Another place. Messages that are late together reserve together."""
        if self._moved is None:
            self._moved = asyncio.create_task(self._move())
        moved, position = self._moved, self._late
        self._late += 1
        return (await moved).at(position)

    async def _move(self) -> Places:
        """Reserve other places. The messages are stored, so they wait while the database is away."""
        # The others that were due meanwhile come first.
        await asyncio.sleep(0)
        count, self._late, self._moved = self._late, 0, None
        while True:
            try:
                return await self._reserve_once(count)
            except UNAVAILABLE as error:
                logger.warning("%d messages of a broadcast wait: %s", count, error)
                await asyncio.sleep(FAILURE_SECONDS)

    async def _reserve_once(self, count: int) -> Places:
        loop = asyncio.get_running_loop()
        began = loop.time()
        places = Places.of(await self._reserve(count, self._lead))
        # While the database is slow, the places would be past again.
        self._lead = max(LEAD_SECONDS, 2 * (loop.time() - began))
        return places
