"""Spaces out rounds of work: rare ones begin at once, frequent ones become fewer and larger (ADR 6)."""

import time
from collections.abc import Callable

# The rounds that may follow each other at once.
AT_ONCE = 4


class Spacing:
    """After a few rounds without a pause, one in ``seconds`` on average. Belongs to one thread."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        # When the rounds so far would have ended, one after the other.
        self._until = 0.0

    def pause(self) -> float:
        """Count a round. Returns the seconds until the next one may begin."""
        now = self._now()
        self._until = max(self._until, now) + self._seconds
        return max(0.0, self._until - now - AT_ONCE * self._seconds)
