"""A commit whose response is lost may have succeeded. Before the network is called, the database tells.

A process that did not get further knows that nothing was sent. So it may continue, or begin again.
"""

import asyncio
import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from models.database import answers_at_once, commit
from models.database.outage import UNAVAILABLE

Made = TypeVar("Made")

# How long a client waits while the database is away. A single try may take longer.
PATIENCE_SECONDS = 8.0
PAUSE_SECONDS = 0.2
# How often a transaction begins again that left nothing behind.
TRIES = 3


class UndecidedError(Exception, Generic[Made]):
    """The database stays away: ``made`` may be stored."""

    def __init__(self, made: Made) -> None:
        super().__init__()
        self.made = made


async def settled(
    begin: Callable[[Callable[[Made], None]], Made], is_stored: Callable[[Made], bool]
) -> Made:
    """Commit ``begin``, which calls its argument with what it made before it commits.

    ``is_stored`` must wait for a transaction of ``begin`` that has not ended. Raises UndecidedError, or the
    error of ``begin`` if it certainly left nothing behind.
    """
    for attempt in itertools.count(1):
        made: list[Made] = []
        try:
            return await commit(partial(begin, made.append))
        except UNAVAILABLE:
            # SQLite has no response that could be lost.
            if not made or answers_at_once():
                raise
            if await _is_stored(is_stored, made[-1]):
                return made[-1]
            if attempt == TRIES:
                raise
    raise AssertionError


async def _is_stored(is_stored: Callable[[Made], bool], made: Made) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return await commit(partial(is_stored, made))
        except UNAVAILABLE:
            if time.monotonic() > deadline:
                raise UndecidedError(made) from None
        await asyncio.sleep(PAUSE_SECONDS)
