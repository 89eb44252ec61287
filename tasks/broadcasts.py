"""Sends broadcasts: a loop that claims recipients while their number has places, and calls the network.

The recipient rows are the queue (models.broadcasts.recipient). A poll finds the broadcasts that run. All
workers share the recipients and the pace of a number.
"""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import uvloop

from models.broadcasts.broadcast import Broadcast, BroadcastState, PauseCode
from models.broadcasts.recipient import BroadcastRecipient
from models.database import Waiting
from models.database.outage import UNAVAILABLE
from models.numbers.number import Number
from models.numbers.pace import Pace, Reserved
from networks.registry import close_all
from services import broadcasts, template_reads
from services.broadcast_batches import (
    LEASE_MS,
    Batch,
    Check,
    CopyDoubtedError,
    HaltedError,
    NotRunningError,
    begin,
)
from services.broadcast_pace import highest_of, rate_of, reserve
from services.broadcasting import Effect, Outcomes, hand_over, withdraw
from services.sending import Send
from tasks.places import FAILURE_SECONDS, LATEST_SECONDS, Places, Turns

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# How long before its place a message is stored at most, in seconds. What is stored is sent, also if the
# broadcast is paused or the person opts out meanwhile.
AHEAD_SECONDS = 0.25
# A message that leaves so much later than its place, in seconds, is taken back.
STALE_SECONDS = 0.5
# Recipients of one claim. Single sends wait for the transaction of a claim, so beside them it is shorter.
MOST_TOGETHER, FEW_TOGETHER = 64, 16
# Calls in flight: of all broadcasts, and of one by its rate, because the calls of a network that no longer
# responds all have an unknown outcome.
MOST_IN_FLIGHT, LEAST_IN_FLIGHT, SECONDS_IN_FLIGHT = 400, 8, 2.0
# The pause in seconds while nobody is due.
IDLE_SECONDS = 0.5
# How long the answer of the network about a template counts.
FRESH_SECONDS = 60.0
# The broadcast pauses after so many messages in a row that failed with the same code, or whose outcome is
# unknown.
MOST_FAILED, MOST_UNCLEAR = 100, 20


@dataclass
class Run:
    """A broadcast that this worker sends."""

    broadcast: Broadcast
    turns: Turns
    # As the last batch found it.
    number: Number | None = None
    # Whether single sends share the pace of the number.
    is_shared: bool = False
    is_on: bool = True
    check: Check = Check.ASK
    checked_at: float = 0.0
    # The last code of failures, and how many came in a row. And the messages without a clear outcome.
    failure: str | None = None
    failed: int = 0
    unclear: int = 0
    in_flight: set[asyncio.Task[None]] = field(default_factory=set)
    # The places of the messages that have not left yet, in their order.
    waiting: dict[str, float] = field(default_factory=dict)
    # Set when one leaves.
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def note(self, effect: Effect) -> HaltedError | None:
        """Count the outcome of a message. Returns why the broadcast must pause, if it must."""
        is_same = effect.failure is not None and effect.failure == self.failure
        self.failed = self.failed + 1 if is_same else int(effect.failure is not None)
        self.failure = effect.failure
        self.unclear = self.unclear + 1 if effect.is_unclear else 0
        if self.failed >= MOST_FAILED or self.unclear >= MOST_UNCLEAR:
            return HaltedError(PauseCode.FAILURES, effect.detail)
        return effect.halted


class Engine:
    """Sends the broadcasts that run, in a thread with an event loop."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        # Since when its queries wait for the database.
        self.queries = Waiting()
        self._stopping = False
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._room = asyncio.Semaphore(MOST_IN_FLIGHT)
        self._outcomes = Outcomes()
        self._database = ThreadPoolExecutor(1, thread_name_prefix="broadcasts-db")
        self._thread = threading.Thread(target=self._main, name="broadcasts", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def look(self) -> None:
        """Poll for broadcasts that start, continue, expire, or were cancelled, and send those that run."""
        broadcasts.move_due()
        broadcasts.close_ended()
        found = Broadcast.in_states(BroadcastState.RUNNING)
        for each in found:
            BroadcastRecipient.recall_claims(each.list_id, LEASE_MS)
        self._call(partial(self._serve, {each.id: each for each in found}))

    def stop_claiming(self) -> None:
        """Claim no more recipients. Messages that are stored are sent."""
        self._stopping = True
        self._call(self._ended.set)

    def stop(self) -> None:
        """Stop claiming, and wait until the outcomes are recorded."""
        self.stop_claiming()
        if self._thread.is_alive():
            self._thread.join()
        self._database.shutdown()

    def _call(self, work: Callable[[], object]) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(work)

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                runner.run(self._run_all())
        except Exception:
            # A worker that cannot send must not look alive. It exits, and its supervisor restarts it.
            logger.exception("the engine of broadcasts died")
            os.kill(os.getpid(), signal.SIGTERM)

    async def _run_all(self) -> None:
        await self._ended.wait()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await close_all()

    def _serve(self, found: dict[str, Broadcast]) -> None:
        """Send these broadcasts, and no longer the others."""
        for broadcast_id, run in self._runs.items():
            run.is_on = run.is_on and broadcast_id in found
        for broadcast in found.values():
            if broadcast.id not in self._runs and not self._stopping:
                turns = Turns(partial(self._reserve, broadcast.id))
                run = self._runs[broadcast.id] = Run(broadcast, turns)
                task = asyncio.create_task(self._send_all(run))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _send_all(self, run: Run) -> None:
        try:
            while run.is_on and not self._stopping:
                try:
                    await self._send_next(run)
                except UNAVAILABLE as error:
                    logger.warning("broadcast %s waits: %s", run.broadcast.id, error)
                    await asyncio.sleep(FAILURE_SECONDS)
                except Exception:
                    logger.exception("broadcast %s waits", run.broadcast.id)
                    await asyncio.sleep(FAILURE_SECONDS)
            if run.in_flight:
                await asyncio.wait(run.in_flight)
        finally:
            del self._runs[run.broadcast.id]

    async def _send_next(self, run: Run) -> None:
        """Store the messages of the next recipients, and send each at its place."""
        rate = rate_of(run.broadcast, await self._number_of(run))
        together = FEW_TOGETHER if run.is_shared else MOST_TOGETHER
        most = max(1, min(together, round(rate * AHEAD_SECONDS)))
        await self._wait_for_room(run, rate, most)
        await self._wait_for_late(run)
        batch = await self._begin(run, most)
        if batch is None:
            return
        if not batch.claimed:
            await self._wait_or_finish(run)
            return
        if batch.places is not None:
            run.is_shared = batch.places.is_shared
            self._outcomes.are_few = any(each.is_shared for each in self._runs.values())
            places, run.number = Places.of(batch.places), batch.sends[0].number
            for position, send in enumerate(batch.sends):
                self._send_at(run, send, places.at(position))
            ends = places.at(len(batch.sends))
            await asyncio.sleep(ends - AHEAD_SECONDS - self.loop.time())

    async def _number_of(self, run: Run) -> Number:
        if run.number is None:
            read = partial(Number.get_by_id, run.broadcast.number_id)
            run.number = await self._in_database(read)
        return run.number

    async def _reserve(self, broadcast_id: str, count: int, lead: float) -> Reserved:
        """Places for messages that are too late for theirs."""
        run = self._runs[broadcast_id]
        number = await self._number_of(run)
        return await self._in_database(partial(reserve, run.broadcast, number, count, lead))

    async def _wait_for_room(self, run: Run, rate: float, most: int) -> None:
        """Wait until so many more calls may be in flight."""
        allowed = max(LEAST_IN_FLIGHT, round(rate * SECONDS_IN_FLIGHT), most)
        while len(run.in_flight) + most > allowed:
            await asyncio.wait(run.in_flight, return_when=asyncio.FIRST_COMPLETED)

    async def _wait_for_late(self, run: Run) -> None:
        """Wait while messages are late. Others stored now would be late too."""
        while run.waiting and next(iter(run.waiting.values())) + LATEST_SECONDS < self.loop.time():
            run.left.clear()
            await run.left.wait()

    async def _begin(self, run: Run, most: int) -> Batch | None:
        """Claim recipients and store their messages. None if the broadcast is paused, or must ask again."""
        if self.loop.time() >= run.checked_at + FRESH_SECONDS:
            run.check = Check.ASK
        try:
            return await self._in_database(partial(begin, run.broadcast, most, run.check))
        except CopyDoubtedError as doubted:
            is_fresh = await template_reads.read_again(doubted.number, doubted.name)
            run.check = Check.FINAL if is_fresh else Check.NONE
            run.checked_at = self.loop.time()
        except NotRunningError:
            run.is_on = False
        except HaltedError as halted:
            await self._halt(run, halted)
        return None

    async def _halt(self, run: Run, halted: HaltedError) -> None:
        if run.is_on:
            run.is_on = False
            await self._in_database(partial(broadcasts.halt, run.broadcast.id, halted))

    async def _wait_or_finish(self, run: Run) -> None:
        """Nobody is due. End the broadcast if nobody waits either."""
        if run.in_flight:
            await asyncio.wait(run.in_flight)
        elif await self._in_database(partial(broadcasts.finish, run.broadcast)):
            run.is_on = False
        else:
            await asyncio.sleep(IDLE_SECONDS)

    def _send_at(self, run: Run, send: Send, at: float) -> None:
        run.waiting[send.message.id] = at
        task = asyncio.create_task(self._send(run, send, at))
        run.in_flight.add(task)
        task.add_done_callback(run.in_flight.discard)

    async def _send(self, run: Run, send: Send, at: float) -> None:
        try:
            async with run.turns.turn(at, self._room):
                run.waiting.pop(send.message.id)
                run.left.set()
                if self.loop.time() < at + STALE_SECONDS:
                    effect = await hand_over(run.broadcast, send, self._outcomes)
                else:
                    effect = await withdraw(run.broadcast, send)
            if effect.slows:
                highest = highest_of(send.number)
                slow_down = partial(Pace.slow_down, send.number.id, highest)
                await self._in_database(slow_down)
            if (halted := run.note(effect)) is not None:
                await self._halt(run, halted)
        except UNAVAILABLE as error:
            logger.warning("broadcast %s: %s", run.broadcast.id, error)
        except Exception:
            # The message becomes unknown, and is settled by its status.
            logger.exception("the outcome of message %s was not recorded", send.message.id)

    async def _in_database(self, work: Callable[[], Result]) -> Result:
        with self.queries:
            return await self.loop.run_in_executor(self._database, work)
