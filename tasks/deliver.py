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
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from peewee import InterfaceError, InternalError, OperationalError

from models import clock
from models.attempt import Outcome
from models.claim import (
    LEASE_MARGIN_MS,
    LEAST_TRIES,
    MOST_WEBHOOKS,
    ClaimedDelivery,
    bring_back,
    claim_due,
)
from models.recording import give_back, is_wanted, record_outcomes
from models.secret import SecretUnreadableError
from tasks.attempt_log import attempt_span, count_attempt, count_recorded, report_attempt
from tasks.lanes import BEHIND_PAUSE_SECONDS, Lane, make_lanes
from tasks.queue import Doorbell
from tasks.sender import signed_headers
from webhooks.client import Answer, MayStart, WebhookClient, WithdrawnError
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# Outcomes that come in quick succession are recorded together, unless a delivery waits for their room.
RECORD_TOGETHER_SECONDS = 0.05
RECORD_PAUSE_SECONDS = 0.5
# How often in one look deliveries are brought back, and the pause in between.
MAX_BACK, BACK_PAUSE_SECONDS = 20, 0.005
# An attempt that begins so long after it was claimed or known to be wanted asks (tasks.subscriptions).
STALE_SECONDS = 0.5
# The database cannot be written now. Any other error is about what is written.
UNAVAILABLE = (OperationalError, InterfaceError, InternalError)


# Ring it when deliveries may be due.
bell = Doorbell("deliveries")


def lease_ms(delivery_timeout: float) -> int:
    """How long a claim holds without an outcome, in milliseconds."""
    return round(delivery_timeout * 1000) + LEASE_MARGIN_MS


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
        self._lease_ms = lease_ms(config.delivery_timeout)
        self._last_try = max(config.schedule.tries, LEAST_TRIES)
        # Whether deliveries wait whose workers died, and which have their last attempt left.
        self._has_suspects = False
        self._lanes = make_lanes()
        self._stopping = False
        self._wake_asked = False
        # Outcomes that could not be recorded yet. Nothing is claimed meanwhile.
        self._has_unrecorded = False
        self._outcomes: asyncio.Queue[tuple[str, Outcome]] = asyncio.Queue()
        # Webhooks of which more may be due than their caps let in, when they were last claimed or failed.
        self._crowded: set[str] = set()
        self._is_crowded = asyncio.Event()
        # One thread does the engine's work on the database, so that the loop never waits for it.
        self._database = ThreadPoolExecutor(1, thread_name_prefix="deliver-db")
        self._thread = threading.Thread(target=self._main, name="deliver", daemon=True)

    def start(self) -> None:
        """Begin to deliver; wake-ups of this process come here from now on."""
        bell.worker = self.wake
        self._thread.start()

    def wake(self) -> None:
        """Have the engine look for due deliveries. Any thread may call it."""
        if not (self._wake_asked or self._loop.is_closed()):
            self._wake_asked = True
            self._loop.call_soon_threadsafe(self._wake_lanes)

    def look(self) -> None:
        """Wake if a delivery is due: after a pause, after its lease, or without a wake-up."""
        for _ in range(MAX_BACK):
            due = bring_back(self._last_try)
            self._has_suspects = due.suspect
            if due.any or due.suspect:
                self.wake()
            if self._stopping or not due.more:
                return
            # Other writers get their turn.
            time.sleep(BACK_PAUSE_SECONDS)

    def _wake_lanes(self) -> None:
        # First: work that is committed after this line rings again.
        self._wake_asked = False
        for lane in self._lanes:
            lane.due.set()

    def stop_claiming(self) -> None:
        """Claim nothing more; running attempts go on."""
        self._stopping = True
        self.wake()

    def stop(self) -> None:
        """Claim nothing more, let running attempts finish, and record them."""
        bell.worker = None
        self.stop_claiming()
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
            self._wake_lanes()
            async with asyncio.TaskGroup() as tasks:
                # Any of them that fails ends all, and with them the worker.
                recording = tasks.create_task(self._record_as_they_come())
                serving = [tasks.create_task(self._serve(lane)) for lane in self._lanes]
                await asyncio.wait(serving)
                await self._outcomes.join()
                recording.cancel()

    async def _serve(self, lane: Lane) -> None:
        while not self._stopping:
            await lane.due.wait()
            lane.due.clear()
            await self._fill(lane)
            await asyncio.sleep(lane.rest)
        if lane.in_flight:
            await asyncio.wait(lane.in_flight)

    async def _fill(self, lane: Lane) -> None:
        """Claim for the lane until nothing more is due or it has no room."""
        while not (self._stopping or self._has_unrecorded) and (room := lane.room) > 0:
            claimed_at = self._loop.time()
            batch = await self._claim(lane, room)
            lane.note_claim(batch, room)
            if lane.is_full:
                self._is_crowded.set()
            for claimed in batch:
                self._note_crowd(claimed)
                lane.start(claimed, asyncio.create_task(self._attempt(claimed, claimed_at)))
            if len(batch) < min(room, MOST_WEBHOOKS):
                # No more is due now, or its webhooks are at their caps: a wake-up follows either change.
                return

    async def _claim(self, lane: Lane, room: int) -> list[ClaimedDelivery]:
        terms = lane.terms(self._lease_ms, self._last_try, suspects=self._has_suspects)
        try:
            return await self._in_database(functools.partial(claim_due, room, terms))
        except Exception:
            logger.exception("claim failed; it is tried again")
            return []

    async def _in_database(self, work: Callable[[], Result]) -> Result:
        return await self._loop.run_in_executor(self._database, work)

    async def _attempt(self, claimed: ClaimedDelivery, claimed_at: float) -> None:
        async def may_start() -> bool:
            known_at = claimed_at
            while self._loop.time() >= known_at + STALE_SECONDS:
                known_at = self._loop.time()
                wanted = functools.partial(is_wanted, claimed.delivery_id, claimed.lease_token)
                if not await self._in_database(wanted):
                    return False
            return True

        started_at = clock.now()
        with attempt_span(claimed):
            try:
                answer = await self._post(claimed, started_at, may_start)
            except WithdrawnError:
                await self._give_back(claimed)
                return
            report_attempt(claimed, answer, started_at)
        count_attempt(claimed, answer, started_at)
        outcome = Outcome(
            delivery_id=claimed.delivery_id,
            lease_token=claimed.lease_token,
            started_at=started_at,
            duration_ms=answer.duration_ms,
            success=answer.success,
            status_code=answer.status_code,
            error=answer.error,
            response_body=answer.body,
            timed_out=answer.timed_out,
            proven_url=claimed.webhook.url if answer.success and claimed.webhook.on_trial else None,
        )
        self._outcomes.put_nowait((claimed.webhook.id, outcome))

    async def _give_back(self, claimed: ClaimedDelivery) -> None:
        try:
            await self._in_database(
                functools.partial(give_back, claimed.delivery_id, claimed.lease_token)
            )
        except UNAVAILABLE as error:
            logger.warning("delivery %s waits for its lease's end: %s", claimed.delivery_id, error)

    async def _post(self, claimed: ClaimedDelivery, at: int, may_start: MayStart) -> Answer:
        body = claimed.payload.encode()
        try:
            headers = signed_headers(
                claimed.webhook,
                body,
                event_id=claimed.event_id,
                kind=claimed.event_kind,
                delivery_id=claimed.delivery_id,
                attempt_number=claimed.attempt_number,
                at=at,
            )
        except SecretUnreadableError as error:
            return Answer(None, str(error), None, 0)
        return await self._config.client.post(claimed.webhook.url, body, headers, may_start)

    async def _record_as_they_come(self) -> None:
        """Record all outcomes that are there, without waiting for slower attempts."""
        while True:
            batch = [await self._outcomes.get()]
            while not self._outcomes.empty():
                batch.append(self._outcomes.get_nowait())
            self._is_crowded.clear()
            await self._record([outcome for _, outcome in batch])
            for _ in batch:
                self._outcomes.task_done()
            if self._wants_room(batch):
                self._wake_lanes()
                await asyncio.sleep(BEHIND_PAUSE_SECONDS)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._is_crowded.wait(), RECORD_TOGETHER_SECONDS)

    def _note_crowd(self, claimed: ClaimedDelivery) -> None:
        if claimed.fills_webhook:
            self._crowded.add(claimed.webhook.id)
            self._is_crowded.set()
        else:
            self._crowded.discard(claimed.webhook.id)

    def _wants_room(self, batch: Sequence[tuple[str, Outcome]]) -> bool:
        """Whether anything may have waited for the room that these outcomes made."""
        # A webhook that becomes slow has a lower cap, which attempts from before may still fill.
        self._crowded |= {webhook_id for webhook_id, outcome in batch if not outcome.success}
        is_crowded = any(webhook_id in self._crowded for webhook_id, _ in batch)
        return is_crowded or any(lane.is_full for lane in self._lanes)

    async def _record(self, batch: list[Outcome]) -> None:
        """Record outcomes together, or one by one where that fails: a bad one leaves the others alone."""
        try:
            await self._record_together(batch)
        except UNAVAILABLE as error:
            # The leases run out, and the deliveries are attempted again: late and doubled, never lost.
            logger.warning("%d outcomes are not recorded: %s", len(batch), error)
        except Exception:
            if len(batch) > 1:
                for outcome in batch:
                    await self._record([outcome])
            else:
                logger.exception("the outcome of delivery %s is not recorded", batch[0].delivery_id)

    async def _record_together(self, batch: list[Outcome]) -> None:
        """A disk that is full may have room again: then nothing has to be sent twice."""
        schedule, deactivate_after = self._config.schedule, self._config.deactivate_after
        record = functools.partial(record_outcomes, batch, schedule.delay_after, deactivate_after)
        due_again: list[int] | None = None
        while due_again is None:
            try:
                due_again = await self._in_database(record)
            except UNAVAILABLE as error:
                if self._stopping:
                    raise
                self._has_unrecorded = True
                logger.warning("outcomes are not recorded yet: %s", error)
                await asyncio.sleep(RECORD_PAUSE_SECONDS)
        count_recorded(batch, retried=len(due_again))
        if self._has_unrecorded:
            self._has_unrecorded = False
            self._wake_lanes()
