"""Rate limits of a number, and of a number and a person (Cloud API, Throughput and pair limits).

A meter stores for each key the time at which it is free again. It counts as facts are applied, so that a
restart restores the meters.
"""

from __future__ import annotations

from sandbox.behaviour import Behaviour
from sandbox.entities import Number

# One message per 6 seconds to the same person, of which 45 may be borrowed from the future.
PAIR_INTERVAL, PAIR_BURST = 6.0, 45
# Messages a second above which the level of a number is HIGH (Cloud API, Throughput).
STANDARD_RATE = 80
STANDARD, HIGH = "STANDARD", "HIGH"


def rate_of(number: Number, behaviour: Behaviour) -> int:
    """The messages a second of a number: its own limit, or that of all numbers. 0 for none."""
    return behaviour.throughput_per_second if number.throughput is None else number.throughput


def level_of(number: Number, behaviour: Behaviour) -> str:
    """The level of throughput as Graph shows it."""
    return HIGH if rate_of(number, behaviour) > STANDARD_RATE else STANDARD


class Meter:
    """A limit of ``burst`` messages at once, and one more per ``interval`` seconds."""

    def __init__(self) -> None:
        self._busy_until: dict[object, float] = {}

    def count(self, key: object, at: float, interval: float, burst: int) -> None:
        """One more has passed. What passed while nobody looked never costs more than a burst."""
        until = max(self._busy_until.get(key, at), at) + interval
        self._busy_until[key] = min(until, at + interval * burst)

    def is_full(self, key: object, at: float, interval: float, burst: int) -> bool:
        """Whether one more at this time exceeds the limit."""
        # Half an interval of tolerance: sums of intervals are not exact.
        return self._busy_until.get(key, at) - at > interval * (burst - 0.5)


class Meters:
    """The throughput of each number, and of each pair of a number and a person."""

    def __init__(self) -> None:
        self._numbers = Meter()
        self._pairs = Meter()

    def count(self, number: Number, person: str, at: float, behaviour: Behaviour) -> None:
        """A message was accepted. Nothing is counted for limits that are off."""
        self.count_inbound(number, at, behaviour)
        if behaviour.pair_limit:
            self._pairs.count((number.id, person), at, PAIR_INTERVAL, PAIR_BURST)

    def count_inbound(self, number: Number, at: float, behaviour: Behaviour) -> None:
        """A message came in: the throughput is of both directions."""
        if rate := rate_of(number, behaviour):
            self._numbers.count(number.id, at, 1 / rate, rate)

    def refusal(self, number: Number, person: str, at: float, behaviour: Behaviour) -> int | None:
        """The error code of a send that exceeds a limit, None if it does not."""
        rate = rate_of(number, behaviour)
        if rate and self._numbers.is_full(number.id, at, 1 / rate, rate):
            return 130429
        pair = (number.id, person)
        if behaviour.pair_limit and self._pairs.is_full(pair, at, PAIR_INTERVAL, PAIR_BURST):
            return 131056
        return None
