"""Pauses claiming while something is missing on this machine, such as file descriptors (ADR 12).

Attempts that this machine cannot make are given back and not counted. Claiming continues after a pause,
which doubles until a receiver responds.
"""

import logging
import time
from collections.abc import Callable

from prometheus_client import Counter

from webhooks.faults import HINTS, MachineError

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 8.0
# The time between two log lines about one cause.
LOG_SECONDS = 60
ERRORS = Counter(
    "gateway_machine_errors", "Requests that this machine could not make, by cause", ["cause"]
)
# An alert on an increase needs a series that already exists at 0.
for _cause in HINTS:
    ERRORS.labels(cause=_cause)


class ClaimPause:
    """The pauses of one worker, after errors of this machine. Belongs to one thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        # The length of the last pause in seconds, 0 without an error.
        self.pause = 0.0
        self.is_pausing = False
        self._logged: dict[str, float] = {}

    def note(self, error: MachineError) -> float | None:
        """Count an error. Returns the seconds of the pause that it begins, None during a pause."""
        ERRORS.labels(cause=error.cause).inc()
        now = self._now()
        if now >= self._logged.get(error.cause, 0) + LOG_SECONDS or error.cause not in self._logged:
            self._logged[error.cause] = now
            fields = {"cause": error.cause}
            logger.error("deliveries wait: %s", error, extra={"fields": fields})
        if self.is_pausing:
            return None
        self.is_pausing = True
        self.pause = min(max(FIRST_PAUSE_SECONDS, 2 * self.pause), LONGEST_PAUSE_SECONDS)
        return self.pause

    def resume(self) -> None:
        """The pause is over. The caller has a timer."""
        self.is_pausing = False

    def end(self) -> None:
        """A receiver responded. The next pause is short again."""
        self.pause = 0.0
