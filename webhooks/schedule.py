"""The retry schedule of deliveries (the setting GATEWAY_RETRY_SCHEDULE)."""

import random
from dataclasses import dataclass

JITTER = 0.1


@dataclass(frozen=True)
class RetrySchedule:
    """``delays`` are in seconds, one for each retry."""

    delays: tuple[float, ...]

    @property
    def tries(self) -> int:
        """The number of attempts: the first one and all retries."""
        return len(self.delays) + 1

    @property
    def longest_delays(self) -> tuple[float, ...]:
        """The delays in seconds, with the greatest jitter."""
        return tuple(delay * (1 + JITTER) for delay in self.delays)

    def delay_after(self, tries: int) -> float | None:
        """Seconds until the next attempt after ``tries`` failed ones (+-10 %), None after the last."""
        if tries > len(self.delays):
            return None
        return self.delays[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret
