"""The account's events as they happen, over server-sent events, each once.

Reconnects after a lost connection, after silence, and after data that cannot be parsed. Resumes after the
last event. When the gateway refuses the cursor, because events may be missing, it reads the last minutes
again and leaves out what it knows.
"""

import json
import logging
import random
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from gateway.client.connection import (
    USER_AGENT,
    Bearer,
    ResponseError,
    StreamError,
    UnreachableError,
    blocks_of,
    chunks_of,
    failure_of,
    reason_of,
)

logger = logging.getLogger(__name__)

HEADERS = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
CONNECT_SECONDS = 10
# Three times the pause between two keep-alives of the server.
SILENCE_SECONDS = 45.0
# Seconds before the first retry. Each next pause is twice as long, up to MAX_FAILURES retries.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, MAX_FAILURES = 0.25, 10.0, 16
# The most that Retry-After is followed.
LONGEST_RETRY_AFTER = 300.0
# How many event identifiers are kept to detect duplicates: those of ten minutes with 160 events per second.
REMEMBERED = 100_000
# A gateway of release 1.0 does not say from when to read again. Clocks may differ by minutes.
SLACK = timedelta(minutes=10)

Record = dict[str, Any]


@dataclass
class Events:
    """The events of an account after ``cursor``, or since a time, or new ones without either.

    ``api`` is the API's address, such as ``https://gateway.example.com/api``. ``kinds`` and ``number_id``
    select events. Iterate over it: each event is a dictionary, as ``GET /events`` returns it. To resume in
    another process, store ``event["cursor"]`` after you have processed the event.

    ``on_gap`` gets a line when events may be missing, ``say`` when a connection is lost or made again. Both
    write to the log by default.
    """

    api: str
    key: str
    cursor: str | None = None
    since: str | None = None
    kinds: Collection[str] = ()
    number_id: str | None = None
    say: Callable[[str], None] = logger.info
    on_gap: Callable[[str], None] = logger.warning
    silence: float = SILENCE_SECONDS
    pause: float = PAUSE_SECONDS
    user_agent: str = USER_AGENT
    # That of the last event. Before the first one, the time at the start.
    _last_timestamp: str = field(default_factory=lambda: datetime.now(UTC).isoformat(), init=False)
    _failures: int = field(default=0, init=False)
    _is_broken: bool = field(default=False, init=False)
    _seen: dict[str, None] = field(default_factory=dict, init=False)

    def __iter__(self) -> Iterator[Record]:
        """Yield each event once, without end. Raises ResponseError if the gateway refuses the request."""
        with requests.Session() as session:
            session.auth = Bearer(self.key)
            session.headers["User-Agent"] = self.user_agent
            session.headers.update(HEADERS)
            while True:
                try:
                    with self._open(session) as response:
                        self.say("Connected.")
                        self._is_broken = False
                        yield from self._read(response)
                except StreamError as error:
                    self._wait(f"The connection broke: {error}. Connecting again.")
                except UnreachableError as error:
                    self._wait(f"{error} Trying again.", error.pause)
                except ResponseError as error:
                    if error.status != requests.codes.conflict or self.cursor is None:
                        raise
                    self._read_again(error)

    def _open(self, session: requests.Session) -> requests.Response:
        """A stream. Raises ResponseError if a retry cannot succeed, else UnreachableError."""
        url = f"{self.api.rstrip('/')}/events/stream"
        # requests leaves out what is None.
        query = {
            "event": ",".join(self.kinds) or None,
            "numberId": self.number_id or None,
            "since": self.since or None,
        }
        try:
            response = session.get(
                url,
                params=query,
                headers={} if self.cursor is None else {"Last-Event-ID": self.cursor},
                stream=True,
                timeout=(CONNECT_SECONDS, self.silence),
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise UnreachableError(f"{url} does not answer: {reason_of(error)}.") from None
        kind = response.headers.get("Content-Type", "")
        if response.status_code == requests.codes.ok and kind.startswith("text/event-stream"):
            return response
        with response:
            raise failure_of(response)

    def _read(self, response: requests.Response) -> Iterator[Record]:
        opened = time.monotonic()
        for last_id, data in blocks_of(chunks_of(response)):
            if time.monotonic() - opened > LONGEST_PAUSE_SECONDS:
                self._failures = 0
            if data is None:
                self.cursor = last_id or self.cursor
                continue
            record = _record(data)
            self._failures = 0
            if record["id"] not in self._seen:
                yield record
            # After the reader has processed the event: a reconnect repeats and skips none.
            self._note(record)

    def _note(self, record: Record) -> None:
        self.cursor, self.since = record["cursor"], None
        self._last_timestamp = record["timestamp"]
        self._seen[record["id"]] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def _read_again(self, refusal: ResponseError) -> None:
        since = refusal.details.get("since")
        if not isinstance(since, str):
            moment = datetime.fromisoformat(self._last_timestamp) - SLACK
            since = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
        # The time that is set now has not brought an event yet.
        self.since = self.since or since
        self.cursor = None
        self.on_gap(f"Events may be missing: {refusal.message} Reading again since {self.since}.")

    def _wait(self, reason: str, least: float = 0) -> None:
        """Wait for a random time that grows with each failure, and at least as long as the gateway asked for.

        Reports only the first failure after a lost connection: later ones mostly have the same reason.
        """
        self._failures = min(self._failures + 1, MAX_FAILURES)
        if not self._is_broken:
            self.say(reason)
        self._is_broken = True
        longest = min(self.pause * 2**self._failures, LONGEST_PAUSE_SECONDS)
        pause = longest * random.uniform(0.5, 1)  # noqa: S311 - spreads the load, guards nothing
        time.sleep(max(pause, min(least, LONGEST_RETRY_AFTER)))


def _record(data: bytes) -> Record:
    try:
        record: Record = json.loads(data)
        texts = [record[name] for name in ("id", "cursor", "event", "timestamp")]
        datetime.fromisoformat(record["timestamp"])
        if all(isinstance(text, str) for text in texts) and isinstance(record["data"], dict):
            return record
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    raise StreamError("an event came that cannot be read")
