"""Receives callbacks: they are ingested before their response, or stored for the worker (ADR 89)."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from models.database import commit
from models.database.outage import is_outage
from models.errors import ForbiddenError, UnauthorizedError
from models.messages.callback import Callback
from networks.registry import all_networks, owner_of
from services import telemetry
from services.ingestion import MOST_TOGETHER, Read, ingest_together, read

logger = logging.getLogger(__name__)

# Larger ones are stored, and so are others while many wait: the network waits for the response. To store them
# costs more in all, so lower numbers make an overload worse.
# No text of a message is larger: 4,096 emoji have 12 bytes each as JSON. A stored one could be overtaken.
MOST_BYTES = 64 << 10
# The most that wait of one account of the platform, and of all.
MOST_OF_ONE, MOST_WAITING = 4 * MOST_TOGETHER, 16 * MOST_TOGETHER
# The bytes after which a batch takes no further callback: all requests wait while it is parsed.
MOST_BYTES_TOGETHER = 32 << 10
# The most items of a transaction: sends wait for it on SQLite.
MOST_ITEMS = 32


def verify(query: Mapping[str, str]) -> str:
    """The challenge of the verification handshake. Raises ForbiddenError for a wrong verify token."""
    for network in all_networks():
        if (challenge := network.challenge(query)) is not None:
            return challenge
    raise ForbiddenError("The mode or the verify token is wrong.")


def authenticate(body: bytes, headers: Mapping[str, str]) -> None:
    """Raise UnauthorizedError unless the headers have a network's signature of the raw body."""
    if not any(network.is_authentic(body, headers) for network in all_networks()):
        telemetry.CALLBACKS.labels(outcome="forged").inc()
        raise UnauthorizedError("The signature of the callback is wrong.")


def receive(body: bytes) -> None:
    """Store a callback that came from inside this process."""
    Callback.store(body)
    telemetry.CALLBACKS.labels(outcome="accepted").inc()


class Door:
    """Takes the callbacks of an event loop. Those that come during a transaction share the next one.

    Accounts of the platform take turns, so that the many callbacks of one do not delay those of others.
    """

    def __init__(self) -> None:
        # By account. The first one is next.
        self._waiting: dict[bytes, deque[_Waiting]] = {}
        self._task: asyncio.Task[None] | None = None

    async def take(self, body: bytes) -> None:
        """Ingest a callback. If that fails, or may take long, store it for the worker."""
        callback, owner = Callback.arrived(body), owner_of(body)
        if len(body) > MOST_BYTES or self._is_full(owner):
            await _store(callback)
        else:
            loop = asyncio.get_running_loop()
            taken = loop.create_future()
            self._waiting.setdefault(owner, deque()).append(_Waiting(callback, taken))
            if self._task is None:
                # Not in the context of this request: the task serves others too.
                self._task = loop.create_task(self._work_off(), context=Context())
            await taken
        telemetry.CALLBACKS.labels(outcome="accepted").inc()

    def _is_full(self, owner: bytes) -> bool:
        counts = [len(each) for each in self._waiting.values()]
        return sum(counts) >= MOST_WAITING or len(self._waiting.get(owner, ())) >= MOST_OF_ONE

    async def _work_off(self) -> None:
        try:
            while self._waiting:
                await _ingest(self._next())
        finally:
            self._task = None

    def _next(self) -> list["_Waiting"]:
        """The next callbacks: the oldest of each account, then the second ones."""
        batch, size = list[_Waiting](), 0
        while self._waiting and len(batch) < MOST_TOGETHER and size < MOST_BYTES_TOGETHER:
            owner = next(iter(self._waiting))
            theirs = self._waiting.pop(owner)
            batch.append(theirs.popleft())
            size += len(batch[-1].callback.body)
            if theirs:
                self._waiting[owner] = theirs
        return batch


class _Waiting(NamedTuple):
    """A callback, and the future of its request."""

    callback: Callback
    taken: asyncio.Future[None]


async def _ingest(left: Sequence[_Waiting]) -> None:
    """Ingest or store these callbacks. If neither is possible, the network repeats them."""
    try:
        try:
            pieces = _pieces(left)
            while pieces:
                some = [piece.read for piece in _first(pieces)]
                # Without keys: on PostgreSQL, sends do not wait for it.
                done = await commit(partial(ingest_together, some, are_stored=False))
                ended = sum(piece.is_last for piece in pieces[:done])
                _end(left[:ended])
                pieces, left = pieces[done:], left[ended:]
        except Exception as problem:
            if is_outage(problem):
                raise
            logger.warning(
                "%d callbacks are stored: ingesting them failed", len(left), exc_info=True
            )
            await _store(*(each.callback for each in left))
            _end(left)
    except Exception as error:  # noqa: BLE001 - raised again in each request
        _end(left, error)


class _Piece(NamedTuple):
    """Items of a callback. ``is_last``: with them, all of it is ingested."""

    read: Read
    is_last: bool


def _pieces(waiting: Sequence[_Waiting]) -> list[_Piece]:
    """The callbacks in pieces of MOST_ITEMS. Of a failed callback, the worker ingests all items again."""
    found = list[_Piece]()
    for callback, parts in read(each.callback for each in waiting):
        # A callback without items is one piece too.
        for at in range(0, max(len(parts), 1), MOST_ITEMS):
            is_last = at + MOST_ITEMS >= len(parts)
            found.append(_Piece((callback, parts[at : at + MOST_ITEMS]), is_last))
    return found


def _first(pieces: Sequence[_Piece]) -> Sequence[_Piece]:
    """The first pieces, which one transaction ingests."""
    counts = accumulate(len(parts) for (_, parts), _ in pieces)
    return pieces[: sum(count <= MOST_ITEMS for count in counts)]


def _end(waiting: Sequence[_Waiting], error: Exception | None = None) -> None:
    """Let the requests of these callbacks respond."""
    for _, taken in waiting:
        if taken.cancelled():
            continue
        if error is None:
            taken.set_result(None)
        else:
            taken.set_exception(error)


async def _store(*callbacks: Callback) -> None:
    """Store callbacks for the worker."""
    await commit(partial(Callback.keep, *callbacks))


door = Door()
