"""Streams of server-sent events on the event loop. One polling task serves all streams of the process.

A stream gets the next events after its client has read the previous ones, and reads long ones one by one. So
a slow client uses no more memory than one batch without long events and one part, and does not delay others.
"""

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from io import StringIO

from anyio import CancelScope, to_thread
from peewee import DatabaseError

from models.accounts.account import ApiKey
from models.accounts.user_session import UserSession
from models.database import reading
from models.deliveries.event import Event
from models.deliveries.feed import LostPlaceError, Place, Wanted
from resources.event import event_record
from services.fair_share import Share
from services.live_updates import OMITTED, Block, Blocks, LiveBlocks, Source, block_of

logger = logging.getLogger(__name__)

# Between two polls. At 100 events per second, a batch has room for the events of four polls.
POLL_SECONDS = 0.25
BATCH = 100
KEEP_ALIVE_SECONDS = 15
# Characters. What a client gets at once ends with the event that reaches this size.
PART = 64 * 1024
# The most blocks that wait for one client. At 200 attempts per second, 50 come between two polls.
MOST_WAITING = 200
# A stream ends within this time after its key or session is revoked.
KEY_SECONDS = 2
# The most open streams in this process: for one account, and for all. Users' pages have separate places: the
# programs of an account cannot take those of its pages, nor the other way round.
EACH, TOTAL = 10, 500
# Between two polls while the database is unreachable.
PAUSE_SECONDS = 1
# Of the identifier of a session, which opens the stream of a page.
SESSION_PREFIX = "ses_"


@dataclass(eq=False)
class Stream:
    """One client's events, in batches. ``place`` is the position after the last batch.

    ``opener`` is the API key or the user's session that opened it. If that becomes invalid, the stream ends.
    ``sources`` are the sources of its blocks other than events.
    """

    wanted: Wanted
    place: Place
    opener: str
    sources: Collection[Source] = ()
    # Whether more events can be read at once.
    is_behind: bool = True
    # Cancels the response, even while it waits for the client.
    scope: CancelScope = field(default_factory=CancelScope)
    _batch: deque[Event] = field(default_factory=deque)
    _blocks: deque[Block] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    # How many blocks of each kind were dropped.
    _omitted: Counter[str] = field(default_factory=Counter)
    _is_over: bool = False
    _is_sending: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_ready(self) -> bool:
        """Whether the client has read the last batch."""
        return not (self._batch or self._is_sending)

    def give(self, events: list[Event], place: Place) -> None:
        """Send these events, and continue from this position."""
        # A copy, because streams of one place get the same list.
        self._batch, self.place, self.is_behind = deque(events), place, len(events) == BATCH
        if events:
            self._changed.set()

    def add(self, blocks: list[Block]) -> None:
        """Send these blocks too. For a slow client the oldest waiting ones are dropped."""
        for block in blocks:
            if len(self._blocks) == MOST_WAITING:
                self._omitted[self._blocks[0].kind] += 1
            self._blocks.append(block)
        if blocks:
            self._changed.set()

    def end(self) -> None:
        """End the response. If the client does not read, the connection is closed."""
        self._is_over = True
        self._changed.set()
        if self._is_sending:
            self.scope.cancel()

    async def pieces(self) -> AsyncIterator[str]:
        # A client that loses the connection before the first event resumes here.
        text = f"id: {self.place.cursor}\nretry: 1000\n\n"
        while not self._is_over:
            self._is_sending = True
            yield text
            self._is_sending = False
            if self._batch:
                text = await self._next_part()
                continue
            if self.is_behind:
                streams.wake()
            text = ": keep-alive\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), KEEP_ALIVE_SECONDS)
                self._changed.clear()
                text = await self._next_part()

    async def _next_part(self) -> str:
        """The next events of the batch, and all blocks."""
        history, text = self.place.history, StringIO()
        while self._batch and text.tell() < PART:
            event = self._batch[0]
            # None is a long payload, which the database has.
            is_here = event.payload is not None
            written = _as_text(event, history) if is_here else await self._read(event, history)
            text.write(written)
            self._batch.popleft()
        for kind, count in self._omitted.items():
            text.write(block_of(OMITTED, {"kind": kind, "count": count}).text)
        for block in self._blocks:
            text.write(block.text)
        self._blocks.clear()
        self._omitted.clear()
        return text.getvalue()

    async def _read(self, event: Event, history: str) -> str:
        """The text of a long event. Tries again while the database is unreachable."""
        while not self._is_over:
            try:
                return await to_thread.run_sync(_as_text, event, history)
            except (DatabaseError, OSError) as error:
                logger.warning("event %s cannot be read: %s", event.id, error)
                await asyncio.sleep(PAUSE_SECONDS)
        return ""


def _as_text(event: Event, history: str) -> str:
    """The event as a client gets it, empty if it is gone."""
    if (record := event_record(event, history)) is None:
        return ""
    return f"id: {Place.of(event, history).cursor}\nevent: {event.kind}\ndata: {record}\n\n"


class Streams:
    """The open streams of this process. A task polls while there are any."""

    def __init__(self) -> None:
        self._open: set[Stream] = set()
        # Exists since the first open stream with sources.
        self._blocks: LiveBlocks | None = None
        self._places = Share("event streams", EACH, TOTAL)
        self._places_of_pages = Share("Live pages", EACH, TOTAL)
        self._task: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self._check_at = 0.0
        self._is_stopping = False

    @contextmanager
    def opened(self, stream: Stream) -> Iterator[None]:
        """Serve a stream while inside. Raises RateLimitedError."""
        is_of_page = stream.opener.startswith(SESSION_PREFIX)
        places = self._places_of_pages if is_of_page else self._places
        with places.of(stream.wanted.account_id):
            if stream.sources and not self._accounts():
                self._blocks = LiveBlocks()
            self._open.add(stream)
            if self._task is None or self._task.done():
                self._wanted = asyncio.Event()
                # An empty context, because the log fields of the first stream's request do not apply.
                self._task = asyncio.create_task(self._serve(), context=Context())
            if self._is_stopping:
                stream.end()
            try:
                yield
            finally:
                self._open.discard(stream)

    def wake(self) -> None:
        self._wanted.set()

    def stop(self) -> None:
        """End all streams, and those that open later, because the server is stopping."""
        self._is_stopping = True
        self.end()

    def end(self) -> None:
        """End all streams. The clients reconnect."""
        for stream in self._open:
            stream.end()

    async def _serve(self) -> None:
        """Poll until no stream is open."""
        try:
            while self._open:
                try:
                    await self._poll()
                except (DatabaseError, OSError) as error:
                    logger.warning("events cannot be read: %s", error)
                    await asyncio.sleep(PAUSE_SECONDS)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wanted.wait(), POLL_SECONDS)
                self._wanted.clear()
        except Exception:
            logger.exception("polling for events failed; all streams end")
        finally:
            self.end()

    async def _poll(self) -> None:
        now = asyncio.get_running_loop().time()
        if now >= self._check_at:
            void = await to_thread.run_sync(_void_among, {s.opener for s in self._open})
            for stream in self._open:
                if stream.opener in void:
                    stream.end()
            self._check_at = now + KEY_SECONDS
        ready = [stream for stream in self._open if stream.is_ready]
        asked = {(stream.wanted, stream.place) for stream in ready}
        answers, blocks = await to_thread.run_sync(_read, asked, self._blocks, self._accounts())
        for stream in ready:
            answer = answers.get((stream.wanted, stream.place))
            if answer is None:
                # The client reconnects, and gets the error.
                stream.end()
            else:
                stream.give(*answer)
        for stream in self._open:
            for source in stream.sources:
                stream.add(blocks.get((source, stream.wanted.account_id), []))

    def _accounts(self) -> dict[Source, set[str]]:
        """The accounts of the open streams, by source."""
        accounts: dict[Source, set[str]] = defaultdict(set)
        for stream in self._open:
            for source in stream.sources:
                accounts[source].add(stream.wanted.account_id)
        return accounts


def _void_among(openers: set[str]) -> set[str]:
    """The keys and sessions among these that are no longer valid."""
    sessions = {opener for opener in openers if opener.startswith(SESSION_PREFIX)}
    with reading():
        return ApiKey.void_among(openers - sessions) | UserSession.void_among(sessions)


def _read(
    asked: Collection[tuple[Wanted, Place]],
    latest: LiveBlocks | None,
    accounts: dict[Source, set[str]],
) -> tuple[dict[tuple[Wanted, Place], tuple[list[Event], Place]], Blocks]:
    """The next events of each place that is not lost, and the blocks of these accounts, on one connection."""
    events = {}
    with reading():
        for wanted, place in asked:
            with suppress(LostPlaceError):
                events[wanted, place] = wanted.read(place, BATCH)
        return events, latest.read(accounts) if latest and accounts else {}


# The only instance in a process.
streams = Streams()
