"""Delivers events: a wake-up on the queue, and the engine in the worker that it wakes.

The delivery rows are the queue (models.deliveries.claim). A wake-up only hints that deliveries may be due. It
may be lost, duplicated or late. The engine claims due deliveries while it has room, sends them, and records
their outcomes in small batches.
"""

import asyncio
import logging
import os
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import uvloop

from models import clock
from models.accounts.secret import SecretUnreadableError
from models.database import Waiting
from models.database.heartbeat import Heartbeat
from models.database.outage import UNAVAILABLE
from models.deliveries.attempt import Outcome, record_outcomes
from models.deliveries.claim import (
    LEASE_MARGIN_MS,
    LEAST_TRIES,
    MOST_TOGETHER,
    STALE_SECONDS,
    Allowed,
    Request,
    Terms,
    bring_back,
    claim_due,
    claim_suspect,
    give_back,
    is_wanted,
    requests_of,
)
from models.deliveries.outgoing import Limits
from services.webhooks import signatures
from tasks import queue
from tasks.attempt_log import PAUSED, attempt_span, count_recorded, report_attempt
from tasks.claim_pause import ClaimPause
from tasks.spacing import Spacing
from webhooks.client import Answer, MayStart, WebhookClient, WithdrawnError
from webhooks.faults import MachineError
from webhooks.pace import FIRST, LEAST, Pace, Paces, rest_of
from webhooks.schedule import RetrySchedule

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

GONE = 410
# The attempts in flight in each lane.
MAX_IN_FLIGHT, MAX_SLOW_IN_FLIGHT = 500, 100
# The part of the client's connections that slow receivers may use if descriptors are few.
SLOW_PART = 6
# The most bytes of bodies in flight in a lane: 256 of the largest messages that the API accepts, and 64. A
# claim may exceed this by one body of each of its webhooks.
MAX_BYTES_IN_FLIGHT, MAX_SLOW_BYTES_IN_FLIGHT = 16 << 20, 4 << 20
# An account may use one fifth of a lane, so that it cannot block the others.
ACCOUNT_PART = 5
# The time between two claims of a lane while they follow each other, and between two records of outcomes
# (ADR 6). It is shorter while deliveries wait for room.
CLAIM_SECONDS, SLOW_CLAIM_SECONDS = 0.015, 0.2
RECORD_PAUSE_SECONDS, CROWDED_PAUSE_SECONDS = 0.05, 0.005
# The most outcomes in a transaction. Smaller batches cost throughput. Larger ones delay the next claim.
# Attempts at slow receivers tend to end at the same time, so their batches are smaller.
MOST_RECORDED, MOST_SLOW_RECORDED = 100, 30
# The longest time without a look at a webhook that is at its ``max_rate``.
CLOSED_SECONDS = 1.0
# The pause before the next try to record outcomes.
FAILURE_PAUSE_SECONDS = 0.5
# The batches that one poll brings back, and the pause between two of them.
MAX_BACK, BACK_PAUSE_SECONDS = 20, 0.005


def lease_ms(delivery_timeout: float) -> int:
    """The lease of a claim, in milliseconds. Without an outcome by then, the delivery is due again."""
    return round(delivery_timeout * 1000) + LEASE_MARGIN_MS


@dataclass
class Lane:
    """Separate room for attempts, so that slow receivers never use up the room of the others.

    ``spacing`` is that of its claims while no delivery waits for room.
    """

    max_in_flight: int
    max_bytes: int
    spacing: Spacing
    slow: bool = False
    # Accounts with more due deliveries than the last claim had room for.
    crowded: set[str] = field(default_factory=set)
    is_full: bool = False
    due: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: set[asyncio.Task[None]] = field(default_factory=set)
    accounts: Counter[str] = field(default_factory=Counter)
    # The bytes of the bodies in flight, by account.
    sizes: Counter[str] = field(default_factory=Counter)

    @property
    def room(self) -> int:
        """How many more attempts may start."""
        return self.max_in_flight - len(self.in_flight) if self.size_left > 0 else 0

    @property
    def size_left(self) -> int:
        """Below zero if the last claim took large bodies."""
        return self.max_bytes - self.sizes.total()

    @property
    def max_per_account(self) -> int:
        """The most attempts of one account."""
        return max(1, self.max_in_flight // ACCOUNT_PART)

    def terms(
        self, lease_ms: int, limits: Limits, paces: Mapping[str, tuple[int, int]], worker: str
    ) -> Terms:
        """How to claim for it now, at these paces of webhooks."""
        return Terms(
            LEAST if self.slow else FIRST,
            lease_ms,
            self.slow,
            paces={id_: Allowed(*allowed) for id_, allowed in paces.items()},
            per_account=self.max_per_account,
            in_flight=dict(self.accounts),
            size=self.size_left,
            size_per_account=self.max_bytes // ACCOUNT_PART,
            size_in_flight=dict(self.sizes),
            limits=limits,
            worker=worker,
        )

    def start(self, account_id: str, size: int, task: asyncio.Task[None]) -> None:
        """Count an attempt of this account, with a body of ``size`` bytes, until its task is done."""

        def end(task: asyncio.Task[None]) -> None:
            self.in_flight.discard(task)
            self.accounts[account_id] -= 1
            self.sizes[account_id] -= size
            if not self.accounts[account_id]:
                del self.accounts[account_id], self.sizes[account_id]

        self.accounts[account_id] += 1
        self.sizes[account_id] += size
        self.in_flight.add(task)
        task.add_done_callback(end)


class Engine:
    """Delivers due events on an event loop in its own thread."""

    def __init__(
        self,
        client: WebhookClient,
        schedule: RetrySchedule,
        delivery_timeout: float,
        deactivate_after: int,
        limits: Limits | None = None,
        *,
        deactivate_when_gone: bool = False,
    ) -> None:
        self._client = client
        self._deactivate_when_gone = deactivate_when_gone
        self._limits = limits or Limits()
        self._schedule = schedule
        self._deactivate_after = deactivate_after
        # The name with which its lease tokens begin (models.deliveries.other_workers).
        self.worker = uuid.uuid4().hex[:12]
        self.loop = uvloop.new_event_loop()
        # The queries that wait for the thread below.
        self.queries = Waiting()
        self._lease_ms = lease_ms(delivery_timeout)
        # What an attempt needs of its lease: the time for the exchange, and half of the margin to record it.
        self._needed_ms = self._lease_ms - LEASE_MARGIN_MS // 2
        self._last_try = max(schedule.tries, LEAST_TRIES)
        # No attempt waits for a descriptor: both lanes and a suspect fit into the client's connections.
        slow = min(MAX_SLOW_IN_FLIGHT, max(1, client.most_open // SLOW_PART))
        fast = min(MAX_IN_FLIGHT, max(1, client.most_open - slow - 1))
        self._lanes = [
            Lane(fast, MAX_BYTES_IN_FLIGHT, Spacing(CLAIM_SECONDS)),
            Lane(slow, MAX_SLOW_BYTES_IN_FLIGHT, Spacing(SLOW_CLAIM_SECONDS), slow=True),
        ]
        self._paces = Paces(self._lanes[0].max_per_account)
        self._alarm: asyncio.TimerHandle | None = None
        self._looked = asyncio.Event()  # Set by a poll that found due deliveries.
        self._stopping = False
        self._wake_asked = False
        # Some outcomes could not be recorded yet. The engine claims nothing meanwhile.
        self._has_unrecorded = False
        self._claim_pause = ClaimPause(self.loop.time)
        self._outcomes: asyncio.Queue[tuple[str, Outcome]] = asyncio.Queue()  # By account.
        # One thread runs all of the engine's queries, so that the loop never waits for the database.
        self._database = ThreadPoolExecutor(1, thread_name_prefix="deliver-db")
        self._thread = threading.Thread(target=self._main, name="deliver", daemon=True)

    def start(self) -> None:
        """Begin to deliver, and receive the wake-ups of this process."""
        queue.deliveries.worker = self.wake
        self._thread.start()

    def wake(self) -> None:
        """Make the engine claim due deliveries. Any thread may call it."""
        if not self._wake_asked:
            self._wake_asked = True
            self._call(self._wake_lanes)

    def look(self) -> None:
        """Poll for deliveries that are due after a pause or an expired lease, or whose wake-up was lost."""
        for _ in range(MAX_BACK):
            any_due, more = bring_back(self._last_try)
            if any_due:
                self._call(self._wake_all)
            if self._stopping or not more:
                return
            # Lets other writers in.
            time.sleep(BACK_PAUSE_SECONDS)

    def _call(self, work: Callable[[], None]) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(work)

    def _wake_lanes(self) -> None:
        # Clear the flag first: work that commits after this line sets it again.
        self._wake_asked = False
        for lane in self._lanes:
            lane.due.set()

    def _wake_all(self) -> None:
        self._wake_lanes()
        self._looked.set()

    def stop_claiming(self) -> None:
        """Stop claiming. Running attempts continue."""
        self._stopping = True
        self._call(self._wake_all)

    def stop(self) -> None:
        """Stop claiming, wait for running attempts, and record their outcomes."""
        queue.deliveries.worker = None
        self.stop_claiming()
        if self._thread.is_alive():
            self._thread.join()
        self._database.shutdown()

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(self._run())
        except Exception:
            # A worker that cannot deliver must not look alive. It exits, and its supervisor restarts it.
            logger.exception("the delivery engine died")
            os.kill(os.getpid(), signal.SIGTERM)

    async def _run(self) -> None:
        async with self._client, asyncio.TaskGroup() as tasks:
            self._wake_lanes()
            # If one task fails, the task group ends all of them, and then the worker.
            recording = tasks.create_task(self._record_as_they_come())
            serving = [self._serve_suspects(), *(self._serve(lane) for lane in self._lanes)]
            await asyncio.wait([tasks.create_task(each) for each in serving])
            await self._outcomes.join()
            recording.cancel()

    async def _serve(self, lane: Lane) -> None:
        while not self._stopping:
            await lane.due.wait()
            lane.due.clear()
            await self._fill(lane)
            self._set_alarm()
            is_behind = lane.crowded and not lane.slow
            await asyncio.sleep(CROWDED_PAUSE_SECONDS if is_behind else lane.spacing.pause())
        if lane.in_flight:
            await asyncio.wait(lane.in_flight)

    async def _fill(self, lane: Lane) -> None:
        """Claim for the lane until no more deliveries are due or the lane is full."""
        while self._may_claim() and (room := lane.room) > 0:
            claimed_at = self.loop.time()
            paces = self._paces.known(claimed_at, is_slow=lane.slow)
            terms = lane.terms(self._lease_ms, self._limits, paces, self.worker)
            claim = await self._claim(partial(claim_due, room, terms))
            if claim is None:
                return
            batch, lane.crowded, more, paused, opens_in = claim
            PAUSED.inc(paused)
            for webhook_id, ms in opens_in.items():
                # Not for long: its account may change the limit, which only the next claim sees.
                until = self.loop.time() + min(ms / 1000, CLOSED_SECONDS)
                self._paces.of(webhook_id, is_slow=lane.slow).close(until)
            requests = requests_of(batch)
            for request in requests:
                webhook = request.first.webhook
                pace = self._paces.of(webhook.id, is_slow=lane.slow)
                is_new = any(claimed.is_new for claimed in request.deliveries)
                pace.start(self.loop.time(), is_new=is_new)
                task = asyncio.create_task(self._attempt(request, claimed_at, pace))
                lane.start(webhook.account_id, len(request.content.body), task)
            if not more and len(requests) < min(room, MOST_TOGETHER):
                break
        lane.is_full = lane.room <= 0

    def _set_alarm(self) -> None:
        """Claim again when the rate of a webhook, or its ``max_rate``, allows it."""
        if self._alarm is not None:
            self._alarm.cancel()
        # A lane without room claims when it has some.
        lanes = [lane.slow for lane in self._lanes if lane.room > 0]
        at = self._paces.opens_at(self.loop.time(), lanes)
        self._alarm = None if at is None else self.loop.call_at(at, self._wake_lanes)

    async def _serve_suspects(self) -> None:
        """Attempt deliveries that may have killed their worker, one by one."""
        while not self._stopping:
            await self._looked.wait()
            self._looked.clear()
            if self._may_claim():
                claimed_at = self.loop.time()
                claim = partial(claim_suspect, self._last_try, self._lease_ms, self.worker)
                if (claimed := await self._claim(claim)) is not None:
                    pace = self._paces.of(claimed.webhook.id, is_slow=claimed.webhook.slow)
                    pace.start(claimed_at, is_new=False)
                    [request] = requests_of([claimed])
                    attempt = self._attempt(request, claimed_at, pace)
                    # A separate task, because its error must not end the engine.
                    await asyncio.wait([asyncio.create_task(attempt)])

    def _may_claim(self) -> bool:
        return not (self._stopping or self._has_unrecorded or self._claim_pause.is_pausing)

    async def _claim(self, claim: Callable[[], Result]) -> Result | None:
        try:
            return await self._in_database(claim)
        except Exception:
            logger.exception("claim failed; the next wake-up tries again")
            return None

    async def _in_database(self, work: Callable[[], Result]) -> Result:
        with self.queries:
            return await self.loop.run_in_executor(self._database, work)

    async def _attempt(self, request: Request, claimed_at: float, pace: Pace) -> None:
        answer, began = None, self.loop.time()
        try:
            answer = await self._make_attempt(request, claimed_at)
        finally:
            pace.end(self.loop.time(), began, answer)

    async def _make_attempt(self, request: Request, claimed_at: float) -> Answer | None:
        """Send, and pass on the outcomes. Returns the answer, None if nothing was sent."""

        def are_wanted() -> bool:
            return all(is_wanted(claimed, self._needed_ms) for claimed in request.deliveries)

        async def may_start() -> bool:
            known_at = claimed_at
            while self.loop.time() >= known_at + STALE_SECONDS:
                known_at = self.loop.time()
                try:
                    if not await self._in_database(are_wanted):
                        return False
                except UNAVAILABLE as error:
                    # Not the receiver's failure, and the claim may be void.
                    delivery_id = request.first.delivery_id
                    logger.warning("delivery %s is not sent now: %s", delivery_id, error)
                    return False
            return True

        started_at, webhook = clock.now(), request.first.webhook
        with attempt_span(request.first):
            try:
                answer = await self._post(request, started_at, may_start)
            except WithdrawnError:
                await self._give_back(request)
                return None
            except MachineError as error:
                await self._give_back(request)
                await self._pause(error)
                return None
            rest_ms = round(1000 * rest_of(answer, clock.now() / 1000))
            # If any delivery of the request has no attempt left, this one has none.
            last = max(request.deliveries, key=lambda claimed: claimed.tries)
            # One time for all: so they are retried together, and a later failure counts once as well.
            delay_after = self._schedule.delay_after
            delays = {tries: delay_after(tries) for tries in {d.tries for d in request.deliveries}}
            for claimed in request.deliveries:
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
                    proven_url=webhook.url if answer.success and webhook.on_trial else None,
                    rest_ms=rest_ms,
                    ends_rest=answer.success and webhook.rest_ends_at(started_at) is not None,
                    is_end=self._deactivate_when_gone and answer.status_code == GONE,
                    is_counted=claimed is last,
                    retry_seconds=delays[claimed.tries],
                )
                report_attempt(claimed, outcome)
                self._outcomes.put_nowait((webhook.account_id, outcome))
        if self._claim_pause.pause and answer.status_code is not None:
            self._claim_pause.end()
        return answer

    async def _pause(self, error: MachineError) -> None:
        """Claim nothing for a while: no attempt can be made on this machine."""
        if (seconds := self._claim_pause.note(error)) is None:
            return
        self.loop.call_later(seconds, self._resume)
        try:
            await self._in_database(partial(Heartbeat.note_trouble, error.cause))
        except UNAVAILABLE as unavailable:
            logger.warning("/readyz does not show it: %s", unavailable)

    def _resume(self) -> None:
        self._claim_pause.resume()
        self._wake_lanes()

    async def _give_back(self, request: Request) -> None:
        try:
            await self._in_database(partial(give_back, request.deliveries))
        except UNAVAILABLE as error:
            logger.warning(
                "delivery %s keeps its lease until it expires: %s", request.first.delivery_id, error
            )

    async def _post(self, request: Request, at: int, may_start: MayStart) -> Answer:
        webhook, first, content = request.first.webhook, request.first, request.content
        try:
            headers = webhook.headers | signatures(
                webhook, content, at, first.delivery_id, first.attempt_number
            )
        except SecretUnreadableError as error:
            return Answer(None, str(error), None, 0)
        return await self._client.post(webhook.url, content.body, headers, may_start)

    async def _record_as_they_come(self) -> None:
        """Record finished attempts without waiting for slower ones."""
        while True:
            batch = [await self._outcomes.get()]
            most = MOST_SLOW_RECORDED if batch[0][1].is_slow else MOST_RECORDED
            while not self._outcomes.empty() and len(batch) < most:
                batch.append(self._outcomes.get_nowait())
            await self._record([outcome for _, outcome in batch])
            was_unavailable, self._has_unrecorded = self._has_unrecorded, False
            for _ in batch:
                self._outcomes.task_done()
            accounts = {account_id for account_id, _ in batch}
            # Deliveries may wait for the room that these attempts freed.
            is_room = any(lane.crowded & accounts or lane.is_full for lane in self._lanes)
            if is_room or was_unavailable:
                self._wake_lanes()
            if self._outcomes.qsize() < most:
                is_behind = is_room or not self._outcomes.empty()
                await asyncio.sleep(CROWDED_PAUSE_SECONDS if is_behind else RECORD_PAUSE_SECONDS)

    async def _record(self, batch: list[Outcome]) -> None:
        """Record outcomes together. If that fails, record each alone, so that a bad one affects no other."""
        try:
            await self._record_together(batch)
        except UNAVAILABLE as error:
            # The leases expire, and the deliveries are attempted again: late and twice, but never lost.
            logger.warning("%d outcomes were not recorded: %s", len(batch), error)
        except Exception:
            if len(batch) > 1:
                for outcome in batch:
                    await self._record([outcome])
            else:
                logger.exception(
                    "the outcome of delivery %s was not recorded", batch[0].delivery_id
                )

    async def _record_together(self, batch: list[Outcome]) -> None:
        """Retry until the database is writable, for example after a full disk. So nothing is sent twice."""
        delay_after = self._schedule.delay_after
        record = partial(record_outcomes, batch, delay_after, self._deactivate_after)
        while True:
            try:
                states = await self._in_database(record)
            except UNAVAILABLE as error:
                if self._stopping:
                    raise
                self._has_unrecorded = True
                logger.warning("outcomes are not recorded yet: %s", error)
                await asyncio.sleep(FAILURE_PAUSE_SECONDS)
            else:
                return count_recorded(states)
