"""The account's events as they happen, over server-sent events, each exactly once.

Reconnects after a lost connection, after silence, and after data that cannot be parsed. Resumes after the
last event.
"""

import http.client
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
import urllib3

from gateway.cli.remote import NoAnswerError, RefusedError, Remote, reason_of

PATH = "/events/stream"
# Three times the pause between two keep-alives of the server.
SILENCE_SECONDS = 45.0
# Seconds before the first retry. Each next pause is twice as long, up to MAX_FAILURES retries.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, MAX_FAILURES = 0.25, 10.0, 16
# More than an event can have.
MAX_EVENT = 4 * 1024 * 1024
READ_SIZE = 64 * 1024
# How many event identifiers are kept to detect duplicates.
REMEMBERED = 10_000
# Statuses after which a retry may succeed.
PASSING = {408, 425, 429}

Record = dict[str, Any]
Say = Callable[[str], None]


class BrokenError(Exception):
    """The connection is broken. The text says why."""


@dataclass
class Stream:
    """The events of an account after ``cursor``, or new ones without it. ``say`` logs lost connections."""

    remote: Remote
    query: dict[str, str]
    say: Say
    cursor: str | None = None
    silence: float = SILENCE_SECONDS
    pause: float = PAUSE_SECONDS
    _failures: int = 0
    _is_broken: bool = False
    _seen: dict[str, None] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Record]:
        """Yield each event once, without end. Fails if the gateway refuses the request."""
        while True:
            response = self._connect()
            try:
                with response:
                    yield from self._read(response)
            except BrokenError as error:
                self._note_failure(f"The connection broke: {error}. Connecting again.")

    def _read(self, response: requests.Response) -> Iterator[Record]:
        opened = time.monotonic()
        for name, data in frames(_chunks(response)):
            if time.monotonic() - opened > LONGEST_PAUSE_SECONDS:
                self._failures = 0
            if data is None:
                self.cursor = name or self.cursor
            elif (record := _record(data))["id"] not in self._seen:
                self._failures = 0
                yield record
                # After the reader has processed the event: a reconnect repeats and skips none.
                self.cursor = record["cursor"]
                self._remember(record["id"])

    def _remember(self, event_id: str) -> None:
        self._seen[event_id] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def _open(self) -> requests.Response:
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        if self.cursor is not None:
            headers["Last-Event-ID"] = self.cursor
        response = self.remote.stream(PATH, self.query, headers, self.silence)
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            response.close()
            raise NoAnswerError(f"{response.url} is no stream of events.")
        return response

    def _connect(self) -> requests.Response:
        """Open a stream. Retries until it succeeds."""
        while True:
            if self._failures:
                longest = min(self.pause * 2**self._failures, LONGEST_PAUSE_SECONDS)
                time.sleep(longest * random.uniform(0.5, 1))  # noqa: S311 - spreads the load, guards nothing
            try:
                response = self._open()
            except RefusedError as error:
                if error.status not in PASSING and error.status < requests.codes.server_error:
                    raise
                self._note_failure(f"{error.message} Trying again.")
            except NoAnswerError as error:
                self._note_failure(f"{error.message} Trying again.")
            else:
                self.say("Connected.")
                self._is_broken = False
                return response

    def _note_failure(self, reason: str) -> None:
        """Log only the first failure after a lost connection: later ones mostly have the same reason."""
        self._failures = min(self._failures + 1, MAX_FAILURES)
        if not self._is_broken:
            self.say(reason)
        self._is_broken = True


def _chunks(response: requests.Response) -> Iterator[bytes]:
    """Bytes as they come. Raises BrokenError at the end, too: the server never ends a stream by itself."""
    try:
        while chunk := response.raw.read1(READ_SIZE):
            yield chunk
    except urllib3.exceptions.ReadTimeoutError:
        raise BrokenError("nothing came for too long") from None
    except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
        raise BrokenError(reason_of(error)) from None
    raise BrokenError("the gateway ended it")


def frames(chunks: Iterator[bytes]) -> Iterator[tuple[str, bytes | None]]:
    """The ``id`` and ``data`` of each block of lines (HTML, Server-sent events). None: there is no data.

    Data after the last blank line is skipped, because it was cut off. Raises BrokenError.
    """
    rest = b""
    for chunk in chunks:
        *blocks, rest = (rest + chunk).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in blocks:
            yield _frame(block)
        if len(rest) > MAX_EVENT:
            raise BrokenError("an event is too long")


def _frame(block: bytes) -> tuple[str, bytes | None]:
    pairs = [line.partition(b":") for line in block.split(b"\n")]
    data = [value.removeprefix(b" ") for name, _, value in pairs if name == b"data"]
    ids = [value.removeprefix(b" ") for name, _, value in pairs if name == b"id"]
    return ids[-1].decode("latin-1") if ids else "", b"\n".join(data) if data else None


def _record(data: bytes) -> Record:
    try:
        record: Record = json.loads(data)
        texts = [record[name] for name in ("id", "cursor", "event", "timestamp")]
        if all(isinstance(text, str) for text in texts) and isinstance(record["data"], dict):
            return record
    except (ValueError, TypeError, LookupError):
        pass
    raise BrokenError("an event came that cannot be read")
