"""The network's time. All modules read it here.

It is the machine's time plus the seconds added by ``POST /_sandbox/clock``. Moving it ahead tests rules
that take hours or days. It never goes back.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


class Clock:
    """The machine's time plus ``ahead`` seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        """Unix seconds."""
        return time.time() + self.ahead


# One process is one network and has one time. Only the journal's fact ``clock`` moves it.
CLOCK = Clock()


def now() -> float:
    """Unix seconds."""
    return CLOCK.now()


def iso(at: float) -> str:
    """A time as the control paths write it: ISO 8601 with milliseconds and ``Z``."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
