"""Results of callbacks: counters of the process, and a record of the last ones."""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from sandbox import clock

# A load test sends thousands of callbacks, so the log keeps the latest only.
KEPT_CALLBACKS = 1000
KEPT_ATTEMPTS = 50
# Of larger callbacks the body is not kept.
KEPT_BYTES = 16 << 10
KEPT_LATENCIES = 1000
WAITING, DELIVERED, GIVEN_UP = "waiting", "delivered", "given_up"
# The class of HTTP statuses that end the retries.
SUCCESS = 2


@dataclass(slots=True)
class Counters:
    """Counters since the start of the process."""

    delivered: int = 0
    attempts: int = 0
    failed_attempts: int = 0
    given_up: int = 0
    in_flight: int = 0
    waiting_to_retry: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT_LATENCIES))

    def as_dict(self) -> dict[str, Any]:
        """For the control paths. The median is over the latest responses, in milliseconds."""
        counts = {name: getattr(self, name) for name in self.__slots__ if name != "latencies"}
        median = statistics.median(self.latencies) * 1000 if self.latencies else None
        return {**counts, "median_latency_ms": median and round(median, 1)}


@dataclass(slots=True)
class Attempt:
    """One POST. Without a response, ``status`` is None and ``error`` is the reason. Times in seconds."""

    at: float
    took: float
    status: int | None
    error: str | None

    @property
    def accepted(self) -> bool:
        """Any 2xx ends the retries."""
        return self.status is not None and self.status // 100 == SUCCESS

    def as_dict(self) -> dict[str, Any]:
        """For the control paths."""
        return {
            "at": clock.iso(self.at),
            "took_ms": round(self.took * 1000, 1),
            "status": self.status,
            "error": self.error,
        }


@dataclass(slots=True)
class Record:
    """One callback with its attempts. All attempts are counted, only the latest are stored.

    ``body`` is what was sent, empty if it is too large to be kept.
    """

    id: str
    url: str
    updates: list[str]
    size: int
    body: bytes
    state: str = WAITING
    count: int = 0
    attempts: deque[Attempt] = field(default_factory=lambda: deque(maxlen=KEPT_ATTEMPTS))

    def add(self, attempt: Attempt) -> None:
        """Record an attempt."""
        self.count += 1
        self.attempts.append(attempt)

    def finish(self, attempt: Attempt) -> None:
        """Record the only attempt."""
        self.add(attempt)
        self.state = DELIVERED if attempt.accepted else GIVEN_UP

    def as_dict(self) -> dict[str, Any]:
        """For the control paths."""
        return {
            "id": self.id,
            "url": self.url,
            "updates": self.updates,
            "bytes": self.size,
            "state": self.state,
            "attempt_count": self.count,
            "attempts": [attempt.as_dict() for attempt in self.attempts],
        }


class Log:
    """The last callbacks of this process, oldest first."""

    def __init__(self) -> None:
        self._records: deque[Record] = deque(maxlen=KEPT_CALLBACKS)
        self._count = itertools.count(1)

    def open(self, url: str, updates: list[str], body: bytes) -> Record:
        """A callback is about to be sent."""
        kept = body if len(body) <= KEPT_BYTES else b""
        record = Record(str(next(self._count)), url, updates, len(body), kept)
        self._records.append(record)
        return record

    def find(self, record_id: str) -> Record | None:
        """The callback with this id, if its body was kept."""
        return next((each for each in self._records if each.id == record_id and each.body), None)

    def last(self, count: int) -> list[Record]:
        """At most this many."""
        return list(self._records)[-count:]
