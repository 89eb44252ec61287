"""Delivery: a wake-up on the queue, and the engine that it wakes in the worker.

The delivery rows are the queue (models.claim). A wake-up says only that something may be due: it may
be lost, doubled or late. The engine claims what is due, as much as there is room for, sends it, and
records each outcome as it comes.
"""

import asyncio
import functools
import logging
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from models import clock
from models.attempt import Outcome
from models.claim import ClaimedDelivery, claim_due, record_outcomes
from models.secret import SecretUnreadableError
from tasks.queue import huey
from tasks.sender import signed_headers
from webhooks.client import Answer, WebhookClient
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

MAX_IN_FLIGHT = 200
MAX_PER_WEBHOOK = 10
LEASE_MARGIN_SECONDS = 20

_engine: "Engine | None" = None


@huey.task()
def deliver_due() -> None:
    """Wake this worker's engine."""
    if _engine is not None:
        _engine.wake()


def wake() -> None:
    """Say that deliveries may be due now: to this process's engine, else through the queue."""
    if _engine is not None:
        _engine.wake()
        return
    try:
        deliver_due()
    except Exception:
        # The rows are committed; the sweep finds them without the queue.
        logger.exception("wake-up not queued")


@dataclass(frozen=True)
class EngineConfig:
    """How the engine delivers."""

    client: WebhookClient
    schedule: RetrySchedule
    delivery_timeout: float
    deactivate_after: int


class Engine:
    """Delivers what is due, on an event loop of its own thread."""

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._loop = asyncio.new_event_loop()
        self._due = asyncio.Event()
        self._stopping = False
        self._in_flight: set[asyncio.Task[None]] = set()
        self._outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
        # One thread does the engine's work on the database, so that the loop never waits for it.
        self._database = ThreadPoolExecutor(1, thread_name_prefix="deliver-db")
        self._thread = threading.Thread(target=self._main, name="deliver", daemon=True)

    def start(self) -> None:
        """Begin to deliver; wake-ups of this process come here from now on."""
        global _engine  # noqa: PLW0603 - one engine per process
        _engine = self
        self._thread.start()

    def wake(self) -> None:
        """Have the engine look for due deliveries. Any thread may call it."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._due.set)

    def stop(self) -> None:
        """Claim nothing more, let running attempts finish, and record them."""
        global _engine  # noqa: PLW0603
        _engine = None
        self._stopping = True
        self.wake()
        self._thread.join()
        self._database.shutdown()

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._run())
        except Exception:
            # A worker that cannot deliver must not look alive: it ends, and is started again.
            logger.exception("the delivery engine died")
            os.kill(os.getpid(), signal.SIGTERM)

    async def _run(self) -> None:
        async with self._config.client:
            recorder = asyncio.create_task(self._record_as_they_come())
            self._due.set()
            while not self._stopping:
                await self._due.wait()
                self._due.clear()
                await self._claim_all()
            if self._in_flight:
                await asyncio.wait(self._in_flight)
            await self._outcomes.join()
            recorder.cancel()

    async def _claim_all(self) -> None:
        while not self._stopping and (room := MAX_IN_FLIGHT - len(self._in_flight)) > 0:
            batch = await self._claim(room)
            for claimed in batch:
                task = asyncio.create_task(self._attempt(claimed))
                self._in_flight.add(task)
                task.add_done_callback(self._in_flight.discard)
            if not batch:
                return

    async def _claim(self, room: int) -> list[ClaimedDelivery]:
        lease_ms = round((self._config.delivery_timeout + LEASE_MARGIN_SECONDS) * 1000)
        claim = functools.partial(claim_due, room, MAX_PER_WEBHOOK, lease_ms)
        try:
            return await self._loop.run_in_executor(self._database, claim)
        except Exception:
            logger.exception("claim failed; the sweep will try again")
            return []

    async def _attempt(self, claimed: ClaimedDelivery) -> None:
        started_at = clock.now()
        answer = await self._post(claimed)
        self._outcomes.put_nowait(
            Outcome(
                delivery_id=claimed.delivery_id,
                lease_token=claimed.lease_token,
                started_at=started_at,
                duration_ms=answer.duration_ms,
                success=answer.success,
                status_code=answer.status_code,
                error=answer.error,
                response_body=answer.body,
            )
        )

    async def _post(self, claimed: ClaimedDelivery) -> Answer:
        body = claimed.payload.encode()
        try:
            headers = signed_headers(
                claimed.webhook,
                body,
                kind=claimed.event_kind,
                delivery_id=claimed.delivery_id,
                attempt_number=claimed.attempt_number,
            )
        except SecretUnreadableError as error:
            return Answer(None, str(error), None, 0)
        return await self._config.client.post(claimed.webhook.url, body, headers)

    async def _record_as_they_come(self) -> None:
        """Record whatever has come in together; nothing waits for a slower attempt."""
        while True:
            batch = [await self._outcomes.get()]
            while not self._outcomes.empty():
                batch.append(self._outcomes.get_nowait())
            await self._record(batch)
            for _ in batch:
                self._outcomes.task_done()
            # Room was made, overall or for these webhooks.
            self._due.set()

    async def _record(self, batch: list[Outcome]) -> None:
        config = self._config
        record = functools.partial(
            record_outcomes, batch, config.schedule.delay_after, config.deactivate_after
        )
        try:
            due_again = await self._loop.run_in_executor(self._database, record)
        except Exception:
            # The leases run out, and the deliveries are attempted again: late and doubled, never lost.
            logger.exception("%d outcomes not recorded", len(batch))
            return
        for at in due_again:
            _wake_at(at)


def _wake_at(at: int) -> None:
    """Set the alarm for a retry; the sweep covers for a queue that loses it."""
    try:
        deliver_due.schedule(delay=max(0, (at - clock.now()) / 1000))
    except Exception:
        logger.exception("retry not queued")
