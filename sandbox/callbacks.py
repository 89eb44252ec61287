"""Callbacks on their way out: batched, signed, sent concurrently, retried until a 2xx."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass

import aiohttp
from yarl import URL

from sandbox import clock
from sandbox.settings import Settings
from sandbox.shapes import Update, envelope
from sandbox.signing import encode, signature
from sandbox.state import Network

log = logging.getLogger(__name__)

# The platform retries at once, then ever more slowly, for seven days (Webhooks: delivery). Its
# intervals are not published; these suit a local network, where an outage lasts seconds.
FIRST_DELAY = 0.2
GIVE_UP_AFTER = 7 * 24 * 3600.0
# More open sockets than this exhaust the usual limit of file descriptors on a laptop.
MOST_IN_FLIGHT = 200
# How long a callback that is not full waits for company when batching is on.
LINGER = 0.02
# The class of HTTP statuses that end the retries.
SUCCESS = 2


@dataclass(slots=True)
class Counters:
    """What happened since the start of the process."""

    delivered: int = 0
    attempts: int = 0
    failed_attempts: int = 0
    given_up: int = 0
    in_flight: int = 0
    waiting_to_retry: int = 0


class Outbox:
    """Takes updates and delivers them.

    An update is written off in the journal when its callback got a 2xx.
    """

    def __init__(self, network: Network, settings: Settings) -> None:
        self._network = network
        self._settings = settings
        # Parsed once, not for each callback.
        self._url = URL(settings.callback_url)
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(MOST_IN_FLIGHT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._batch: list[Update] = []
        self._flush_timer: asyncio.TimerHandle | None = None
        self._value_first = False
        self.counters = Counters()

    async def open(self) -> None:
        """Make the client; it belongs to the running event loop."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
            timeout=aiohttp.ClientTimeout(total=self._settings.callback_timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Stop at once. What is not delivered stays owed in the journal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The client that reaches the callback URL."""
        if self._session is None:
            raise RuntimeError("the outbox is not open")
        return self._session

    def add(self, update: Update) -> None:
        """Deliver this update, together with others when batching is on."""
        self._batch.append(update)
        if len(self._batch) >= self._network.behaviour.batch_size:
            self._flush()
        elif self._flush_timer is None:
            self._flush_timer = asyncio.get_running_loop().call_later(LINGER, self._flush)

    def _flush(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        batch, self._batch = self._batch, []
        if batch:
            self._start(batch)

    def _start(self, batch: list[Update]) -> None:
        # A task of its own for each callback: one that cannot be delivered never holds up another.
        task = asyncio.get_running_loop().create_task(self._deliver(batch))
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a callback was abandoned until the next start: %r", error)

    async def _deliver(self, batch: list[Update]) -> None:
        self._value_first = not self._value_first
        body = encode(envelope(batch, value_first=self._value_first))
        delivered = await self._until_delivered(body, born=min(update.at for update in batch))
        await self._write_off(batch)
        if not delivered:
            self.counters.given_up += 1
        elif random.random() < self._network.behaviour.duplicate_rate:  # noqa: S311 - not a secret
            await self._attempt(body)

    async def _write_off(self, batch: list[Update]) -> None:
        """Record that nothing of this is owed any longer; a full disk may have room again later."""
        while True:
            try:
                self._network.record({"fact": "done", "keys": [update.key for update in batch]})
            except OSError as error:
                log.warning("a callback is not written off yet: %s", error)
                await asyncio.sleep(self._settings.retry_cap)
            else:
                return

    async def _until_delivered(self, body: bytes, born: float) -> bool:
        for delay in self._delays():
            if await self._attempt(body):
                self.counters.delivered += 1
                return True
            if clock.now() - born > GIVE_UP_AFTER:
                return False
            self.counters.waiting_to_retry += 1
            try:
                await asyncio.sleep(delay)
            finally:
                self.counters.waiting_to_retry -= 1
        return False

    def _delays(self) -> Iterator[float]:
        yield 0.0
        delay = FIRST_DELAY
        while True:
            yield min(delay, self._settings.retry_cap)
            delay = min(delay * 2, self._settings.retry_cap)

    async def _attempt(self, body: bytes) -> bool:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature-256": signature(body, self._settings.app_secret),
        }
        # Waiting for a slot happens outside the client, so that a queue here is never mistaken for
        # a slow receiver.
        async with self._slots:
            self.counters.attempts += 1
            self.counters.in_flight += 1
            accepted = False
            try:
                with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                    accepted = await self._post(body, headers)
            finally:
                self.counters.in_flight -= 1
        self.counters.failed_attempts += not accepted
        return accepted

    async def _post(self, body: bytes, headers: dict[str, str]) -> bool:
        async with self.session.post(
            self._url, data=body, headers=headers, allow_redirects=False
        ) as answer:
            # Read to the end, because only then the connection can be kept.
            await answer.read()
            return answer.status // 100 == SUCCESS
