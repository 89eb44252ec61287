"""The times at which messages arrived at the sandbox, and the rate that they make."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

# The part of a run at each end that is not its middle: workers begin and end one after the other.
EDGE = 0.1


class Arrivals(NamedTuple):
    """Times in ascending order, in seconds. The sandbox takes them before its latency, to the millisecond."""

    times: Sequence[float]

    @classmethod
    def of(cls, accepted: Sequence[dict[str, Any]]) -> Self:
        """The times of messages of the sandbox."""
        found = (datetime.fromisoformat(message["accepted_at"]) for message in accepted)
        return cls(sorted(time.timestamp() for time in found))

    def most_within(self, seconds: float) -> int:
        """The most messages in any window of so many seconds. Each message starts one."""
        return max((self._count(at, seconds) for at in range(len(self.times))), default=0)

    @property
    def rate(self) -> float:
        """The messages a second in the middle of the run."""
        edge = round(EDGE * len(self.times))
        middle = self.times[edge : len(self.times) - edge]
        return (len(middle) - 1) / (middle[-1] - middle[0])

    def reaches(self, rate: float, since: float) -> float | None:
        """The end of the first window of a second after ``since`` with this rate. None without one."""
        for at in range(bisect_left(self.times, since), len(self.times)):
            if self._count(at, 1) >= rate:
                return self.times[at] + 1
        return None

    def _count(self, at: int, seconds: float) -> int:
        return bisect_left(self.times, self.times[at] + seconds) - at
