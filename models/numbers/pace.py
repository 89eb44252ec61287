"""The pace of a number, or of one broadcast: when its next message may leave, the same for all workers.

Each worker reserves the places of its messages in one row, so together they keep the rate (the generic cell
rate algorithm). After the network throttled the number, the rate halves and recovers.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Self

from peewee import BigIntegerField, FloatField, TextField

from models import clock
from models.database import BaseModel, Prepared, at_end, database_now, write

SECOND_US = 1_000_000
# A reservation further ahead is from before the clock was set back.
MOST_AHEAD_US = 10 * SECOND_US
# A throttled number continues with this part of its rate, but at least LEAST messages a second. It has its
# whole rate again after RECOVERY.
SLOWED, LEAST, RECOVERY_US = 0.5, 1.0, 24 * SECOND_US
# Single sends share a pace for so long after the last one.
SHARED_US = 30 * SECOND_US
# Calls in flight are throttled together. They slow the number once.
TOGETHER_US = SECOND_US


class Reserved(NamedTuple):
    """When the first message may leave, and the seconds from each to the next.

    ``first_at`` is in milliseconds since the epoch, with fractions. ``is_shared``: single sends share the
    pace now.
    """

    first_at: float
    interval: float
    is_shared: bool = False


class Pace(BaseModel):
    """The pace of ``key``, a number or a broadcast. Times are in microseconds since the epoch.

    ``rate`` is the messages a second since ``slowed_at``, when it was slowed last.
    """

    key = TextField(primary_key=True)
    next_at = BigIntegerField(default=0)
    # From one place to the next, at the last reservation.
    interval = BigIntegerField(default=0)
    rate = FloatField(default=0)
    slowed_at = BigIntegerField(default=0)
    # When a single send last took a place before others that were reserved.
    single_at = BigIntegerField(default=0)

    @classmethod
    def reserve(cls, key: str, count: int, highest: float, lead: float = 0) -> Reserved:
        """Reserve the places of the next messages, at most ``highest`` a second.

        The first one is ``lead`` seconds from now, or later: a place that is past before the caller knows it
        would be lost.
        """

        def reserve() -> Reserved:
            pace, now = cls._of(key), database_now() * 1000
            interval = SECOND_US / pace.rate_at(now, highest)
            soonest = now + round(lead * SECOND_US)
            first = max(pace.next_at, soonest)
            if first > soonest + MOST_AHEAD_US:
                first = soonest
            pace.assign({"next_at": round(first + count * interval), "interval": round(interval)})
            is_shared = abs(now - pace.single_at) < SHARED_US
            return Reserved(first / 1000, interval / SECOND_US, is_shared)

        return write(reserve, key_of(key))

    @classmethod
    def slow_down(cls, key: str, highest: float) -> None:
        """The network throttled the number, which was sent ``highest`` a second at most."""

        def slow_down() -> None:
            pace, now = cls._of(key), database_now() * 1000
            if abs(now - pace.slowed_at) >= TOGETHER_US:
                rate = max(LEAST, SLOWED * pace.rate_at(now, highest))
                pace.assign({"rate": rate, "slowed_at": now})

        write(slow_down, key_of(key))

    @classmethod
    def take_place(cls, number_id: str) -> None:
        """A single send leaves now, before those without a place yet, in the caller's transaction."""
        at_end(_take_places, number_id)

    def rate_at(self, now: int, highest: float) -> float:
        """The messages a second at a time."""
        passed = now - self.slowed_at
        if not 0 <= passed < RECOVERY_US:
            return highest
        return min(highest, self.rate + (highest - self.rate) * passed / RECOVERY_US)

    @classmethod
    def _of(cls, key: str) -> Self:
        """The row, in a transaction with its key."""
        known = cls.by_id(key)
        if known is None:
            cls.create(once=True, key=key)
            known = cls.get_by_id(key)
        return known


def _take_places(number_ids: Sequence[str]) -> None:
    """Move the next places by those of these messages. Without a broadcast there are none to move."""
    now = clock.now() * 1000
    for number_id, count in sorted(Counter(number_ids).items()):
        _TAKE.execute(count, number_id, now)


def key_of(key: str) -> str:
    """The key of transactions that change this pace (models.database.write)."""
    return f"pace {key}"


_TAKE = Prepared(
    lambda count, number_id, now: Pace.update(
        next_at=Pace.next_at + count * Pace.interval, single_at=now
    ).where(Pace.key == number_id, Pace.next_at > now)
)
