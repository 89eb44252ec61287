"""The limit of what an account stores in a UTC day: the contents of its messages, in both directions.

Only sends are refused above it. What the network brings is always stored (docs/rate-limits.md).
"""

from collections.abc import Iterable
from typing import NamedTuple

from gateway.settings import PREFIX, get_settings
from models import clock
from models.clock import DAY_MS
from models.errors import RateLimitedError
from models.reports.usage import day_of, stored_on

MIB = 1 << 20


class Stored(NamedTuple):
    """The bytes that an account has stored in a day, and how many its plan allows."""

    size: int
    limit: int

    @property
    def is_full(self) -> bool:
        return self.size >= self.limit


def look_up(account_id: str) -> Iterable[tuple[str, int]]:
    """The query of an account, for ``read``. In a transaction it is sent with the next one."""
    found: Iterable[tuple[str, int]] = stored_on.execute(account_id, day_of(clock.now()))
    return found


def read(found: Iterable[tuple[str, int]]) -> Stored:
    """What the account has stored today."""
    [(plan, size)] = found
    return Stored(int(size), get_settings().storage_limits[plan] * MIB)


def check(found: Iterable[tuple[str, int]]) -> None:
    """Raise RateLimitedError if the account has stored as much today as its plan allows."""
    stored = read(found)
    if stored.is_full:
        raise RateLimitedError(
            f"This account has stored {stored.limit // MIB:,} MiB today, as much as its plan allows. Nothing"
            " was sent. Send again after midnight UTC, or ask the operator to raise the limit"
            f" ({PREFIX}STORAGE_LIMITS).",
            retry_after=-(-(DAY_MS - clock.now() % DAY_MS) // 1000),
        )
