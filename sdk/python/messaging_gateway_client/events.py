"""The stream of events: its parser, its stored place, and what it does after a lost connection."""

from __future__ import annotations

import json
import logging
import math
import random
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from messaging_gateway_client.errors import GatewayError, NoResponseError
from messaging_gateway_client.replies import unusable
from messaging_gateway_client.retries import CONFLICT, PASSING, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from os import PathLike

    from messaging_gateway_client import types

logger = logging.getLogger("messaging_gateway_client")

# More than an event can have, in bytes.
MAX_BLOCK = 4 * 1024 * 1024
# Seconds before the first new connection. Each next pause is twice as long.
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_RETRY_AFTER = 0.25, 10.0, 300.0
# How many identifiers are remembered: those of ten minutes with 160 events per second.
REMEMBERED = 100_000
# A gateway of release 1.0 does not say from when to read again. Clocks may differ by minutes.
SLACK = timedelta(minutes=10)


class Blocks:
    """The id and the data of each block of server-sent events, from bytes in any pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._id: str | None = None
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[str | None, bytes | None]]:
        """The blocks that end in these bytes. Raises NoResponseError for one that is too long.

        ``str.splitlines`` also splits at U+2028 and others, which an event may contain.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._size += len(line)
            if not line.removesuffix(b"\r"):
                if self._data or self._id is not None:
                    yield self._id, b"\n".join(self._data) if self._data else None
                self._id, self._data, self._size = None, [], 0
            else:
                self._line(line.removesuffix(b"\r"))
        if self._size + len(self._rest) > MAX_BLOCK:
            raise unusable("An event is too long.")

    def _line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("latin-1")


class Follower:
    """Where a reader of the stream is, and what it does after a failure."""

    def __init__(
        self,
        place: str | PathLike[str] | Callable[[str], object] | None,
        after: str | None,
        since: str | None,
        filters: Mapping[str, Any],
        patience: float,
    ) -> None:
        self._file = None if place is None or callable(place) else Path(place)
        self._store = place if callable(place) else self._write
        self._cursor = after
        if self._file is not None and self._file.exists():
            self._cursor = self._file.read_text().strip() or after
        self._since = since
        self._filters = filters
        self._patience = patience
        # The time of the last event. Before the first one, the time at the start.
        self._last = datetime.now(timezone.utc)
        self._seen: dict[str, None] = {}
        self._failures = 0
        self._connected_at = math.inf
        self._good_at = time.monotonic()
        self._blocks = Blocks()

    def request(self) -> Request:
        """The request of the stream from this place on."""
        since = self._since if self._cursor is None else None
        return Request(
            "GET",
            "/events/stream",
            query={**self._filters, "since": since},
            headers={"Last-Event-ID": self._cursor, "Accept-Encoding": "identity"},
            seconds=math.inf,
        )

    def connected(self, content_type: str) -> None:
        """Begin to parse a response. Raises NoResponseError if it is no stream."""
        if not content_type.startswith("text/event-stream"):
            raise unusable("The response is no stream of events. Check the address of the API.")
        self._blocks = Blocks()
        self._connected_at = time.monotonic()
        logger.info("Connected to the stream of events.")

    def feed(self, chunk: bytes) -> Iterator[types.EventRecord]:
        """The new events of these bytes. Raises NoResponseError for one that cannot be parsed."""
        for cursor, data in self._blocks.feed(chunk):
            if data is None:
                self._cursor = cursor or self._cursor
                continue
            event, moment = _event(data)
            if event["id"] not in self._seen:
                yield event
                # Only now, after the caller has processed it: a new connection repeats and skips none.
                self._store(event["cursor"])
            self._note(event, moment)

    def _note(self, event: types.EventRecord, moment: datetime) -> None:
        self._cursor, self._last = event["cursor"], moment
        self._failures, self._good_at = 0, time.monotonic()
        self._seen[event["id"]] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]

    def pause_after(self, error: GatewayError) -> float:
        """Seconds to wait before a new connection. Raises the error if none can help."""
        was_connected = self._connected_at < math.inf
        if time.monotonic() - self._connected_at > LONGEST_PAUSE:
            self._failures, self._good_at = 0, time.monotonic()
        self._connected_at = math.inf
        if error.status == CONFLICT and self._cursor is not None:
            return self._read_again(error)
        is_lost = isinstance(error, NoResponseError) or error.status in PASSING
        if not is_lost or time.monotonic() - self._good_at > self._patience:
            raise error
        # Later failures mostly have the same reason.
        if was_connected or not self._failures:
            logger.info("The stream of events is not connected. Trying again. %s", error.message)
        longest = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 16)
        pause: float = longest * random.uniform(0.5, 1)  # noqa: S311 - spreads the load, guards nothing
        return max(pause, min(error.retry_after or 0, LONGEST_RETRY_AFTER))

    def _read_again(self, refusal: GatewayError) -> float:
        """Begin some minutes before the last event: the gateway refused the cursor."""
        since = refusal.details.get("since")
        self._since = since if isinstance(since, str) else (self._last - SLACK).isoformat()
        self._cursor = None
        logger.warning("Events may be missing, reading since %s: %s", self._since, refusal.message)
        return FIRST_PAUSE

    def _write(self, cursor: str) -> None:
        """Replace the file, so that a killed program leaves a whole one."""
        if self._file is not None:
            part = self._file.with_name(f"{self._file.name}.new")
            part.write_text(cursor)
            part.replace(self._file)


def _event(data: bytes) -> tuple[types.EventRecord, datetime]:
    """An event and its time."""
    try:
        event: types.EventRecord = json.loads(data)
        texts = (event["id"], event["cursor"], event["event"], event["timestamp"])
        # Python 3.10 does not parse the Z.
        moment = datetime.fromisoformat(event["timestamp"].replace("Z", "+00:00"))
        if all(isinstance(text, str) for text in texts) and isinstance(event["data"], dict):
            return event, moment
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    raise unusable("An event came that cannot be parsed.")
