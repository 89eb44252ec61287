"""Sends callbacks: batched, concurrent, retried until a 2xx or for seven days."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator

from sandbox import callback_log, clock
from sandbox.callback_log import Counters, Log, Record
from sandbox.client import Client
from sandbox.distortion import distort, with_unknown_change
from sandbox.network import Network
from sandbox.settings import Settings
from sandbox.shapes import Update, envelope
from sandbox.signing import encode
from sandbox.timetable import Timetable

log = logging.getLogger(__name__)

# The platform retries at once, then ever more slowly, for seven days (Webhooks: delivery). Its
# intervals are not published; these suit a local network, where an outage lasts seconds.
FIRST_DELAY = 0.2
GIVE_UP_AFTER = 7 * 24 * 3600.0


class Outbox:
    """Takes updates and delivers them.

    An update is written off in the journal when its callback got a 2xx, or when the sandbox gives up.
    """

    def __init__(self, network: Network, settings: Settings, timetable: Timetable) -> None:
        self._network = network
        self._settings = settings
        self._timetable = timetable
        self._tasks: set[asyncio.Task[None]] = set()
        self._batches: dict[str, list[Update]] = {}
        # The end of the wait for more updates, by URL.
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._value_first = False
        self._awaited: dict[str, asyncio.Event] = {}
        self.counters = Counters()
        self.log = Log()
        self.client = Client(settings, self.counters)

    async def close(self) -> None:
        """Stop at once. Undelivered updates stay in the journal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()

    def add(self, update: Update, url: str) -> None:
        """Deliver this update to a URL, together with others for it when batching is on."""
        batch = self._batches.setdefault(url, [])
        batch.append(update)
        if len(batch) >= self._network.behaviour.batch_size:
            self._flush(url)
        elif len(batch) == 1:
            # It is not a time of the protocol, so the machine's clock measures it.
            wait = self._network.behaviour.batch_wait_ms / 1000
            self._timers[url] = asyncio.get_running_loop().call_later(wait, self._flush, url)

    def release(self, keys: list[str]) -> None:
        """Updates with these keys are written off: wake up the tasks that wait for them."""
        for key in keys:
            if key in self._awaited:
                self._awaited[key].set()

    async def written_off(self, key: str) -> None:
        """Return when the pending update with this key is written off."""
        event = self._awaited.setdefault(key, asyncio.Event())
        try:
            await event.wait()
        finally:
            self._awaited.pop(key, None)

    def _flush(self, url: str) -> None:
        if url in self._timers:
            self._timers.pop(url).cancel()
        self._start(self._batches.pop(url), url)

    def _start(self, batch: list[Update], url: str) -> None:
        # A task of its own for each callback: one that cannot be delivered never holds up another.
        task = asyncio.get_running_loop().create_task(self._deliver(batch, url))
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a callback was abandoned until the next start: %r", error)

    async def _deliver(self, batch: list[Update], url: str) -> None:
        body, keys = self._encoded(batch), [update.key for update in batch]
        record = self.log.open(url, keys, body)
        delivered = await self._until_delivered(body, record, min(update.at for update in batch))
        record.state = callback_log.DELIVERED if delivered else callback_log.GIVEN_UP
        await self._write_off(keys)
        if not delivered:
            self.counters.given_up += 1
        elif self._network.chance.callbacks.happens(self._network.behaviour.duplicate_rate):
            record.add(await self.client.attempt(url, body))

    def _encoded(self, batch: list[Update]) -> bytes:
        behaviour, chance = self._network.behaviour, self._network.chance.callbacks
        self._value_first = not self._value_first
        updates = [distort(update, behaviour, chance) for update in batch]
        payload = envelope(updates, value_first=self._value_first)
        if chance.happens(behaviour.unknown_fields):
            payload = with_unknown_change(payload)
        return encode(payload)

    async def _write_off(self, keys: list[str]) -> None:
        """Record that these updates are no longer pending. If the disk is full, try again later."""
        while True:
            try:
                self._network.record({"fact": "done", "keys": keys})
            except OSError as error:
                log.warning("a callback is not written off yet: %s", error)
                await asyncio.sleep(self._settings.retry_cap)
            else:
                break
        self.release(keys)

    async def _until_delivered(self, body: bytes, record: Record, born: float) -> bool:
        for delay in self._delays():
            attempt = await self.client.attempt(record.url, body)
            record.add(attempt)
            if attempt.accepted:
                self.counters.delivered += 1
                return True
            if clock.now() - born > GIVE_UP_AFTER:
                return False
            self.counters.waiting_to_retry += 1
            try:
                await self._timetable.wait_until(clock.now() + delay)
            finally:
                self.counters.waiting_to_retry -= 1
        return False

    def _delays(self) -> Iterator[float]:
        yield 0.0
        delay = FIRST_DELAY
        while True:
            yield min(delay, self._settings.retry_cap)
            delay = min(delay * 2, self._settings.retry_cap)
