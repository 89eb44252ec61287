"""The network's own time, which every part of it reads here and nowhere else.

It is the machine's time and whatever ``POST /_sandbox/clock`` has added to it: rules that take
hours or days are tested by moving this clock ahead. It never goes back.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """The machine's time and ``ahead`` seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        """Unix seconds."""
        return time.time() + self.ahead


# One process is one network, and has one time. Only the fact ``clock`` of the journal moves it.
CLOCK = Clock()


def now() -> float:
    """Unix seconds."""
    return CLOCK.now()


def iso(at: float) -> str:
    """A time as the control paths write it: ISO 8601 with milliseconds and ``Z``."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
