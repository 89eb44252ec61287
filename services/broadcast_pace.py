"""The pace of a broadcast: its part of the number's rate, and its own rate if it has one."""

from models.broadcasts.broadcast import Broadcast
from models.database import write
from models.numbers.number import Number
from models.numbers.pace import Pace, Reserved, key_of
from resources.broadcast import allowed_rate

# The part of a rate that broadcasts use. A message may leave and arrive moments after its place.
MARGIN = 0.98
# The first place is at least so many seconds ahead: one that is past when the worker gets it would be lost.
LEAD_SECONDS = 0.1


def highest_of(number: Number) -> float:
    """The most messages a second of all broadcasts of a number."""
    return allowed_rate(number) * MARGIN


def rate_of(broadcast: Broadcast, number: Number) -> float:
    """The most messages a second of the broadcast."""
    highest = highest_of(number)
    return highest if broadcast.rate is None else min(highest, broadcast.rate * MARGIN)


def reserve(
    broadcast: Broadcast, number: Number, count: int, lead: float = LEAD_SECONDS
) -> Reserved:
    """Reserve places of the number, and those of the broadcast if it has a rate of its own."""

    def reserve() -> Reserved:
        reserved = Pace.reserve(number.id, count, highest_of(number), lead)
        if broadcast.rate is None:
            return reserved
        # Also if the number is slower now: its limit may rise.
        own = Pace.reserve(broadcast.id, count, rate_of(broadcast, number), lead)
        # Single sends are noted with the number.
        return own._replace(
            first_at=max(reserved.first_at, own.first_at),
            interval=max(reserved.interval, own.interval),
            is_shared=reserved.is_shared,
        )

    return write(reserve, key_of(number.id), key_of(broadcast.id))
