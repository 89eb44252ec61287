"""Receives callbacks: they are ingested before their response, or stored for the worker (ADR 89)."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context
from functools import partial
from typing import NamedTuple

from models.database import commit
from models.database.outage import is_outage
from models.errors import ForbiddenError, UnauthorizedError
from models.messages.callback import Callback
from networks.registry import all_networks, owner_of
from services import telemetry
from services.ingestion import MOST_TOGETHER, Read, ingest_together, keys_of, read

logger = logging.getLogger(__name__)

# Larger ones are stored, and so are others while many wait: the network waits for the response. To store them
# costs more in all, so lower numbers make an overload worse.
# No text of a message is larger: 4,096 emoji have 12 bytes each as JSON. A stored one could be overtaken.
MOST_BYTES = 64 << 10
# The most that wait of one account of the platform, and of all.
MOST_OF_ONE, MOST_WAITING = 4 * MOST_TOGETHER, 16 * MOST_TOGETHER
# The most keys of a transaction (models.database.write). A send has two.
MOST_KEYS = 200


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
        batch = list[_Waiting]()
        while self._waiting and len(batch) < MOST_TOGETHER:
            owner = next(iter(self._waiting))
            theirs = self._waiting.pop(owner)
            batch.append(theirs.popleft())
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
            items = read(each.callback for each in left)
            while items:
                some = _with_few_keys(items)
                ingest = partial(ingest_together, some, are_stored=False)
                done = await commit(ingest, *keys_of(some))
                _end(left[:done])
                items, left = items[done:], left[done:]
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


def _with_few_keys(items: Sequence[Read]) -> Sequence[Read]:
    """The first callbacks, at least one. With many keys their transaction would exclude all others."""
    while len(items) > 1 and len(keys_of(items)) > MOST_KEYS:
        items = items[: len(items) // 2]
    return items


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
