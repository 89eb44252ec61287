"""Places for requests that cost disk space, a thread or memory for as long as the client likes to take.

They are counted, and one caller alone cannot take them all (docs/decisions/0015-media-through-us.md).
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from handlers.errors import ThrottledError

RETRY_AFTER = 5
# Large bodies that are not media: each may be of 4 MiB.
LARGE_BODIES, LARGE_BODIES_EACH = 32, 4


class Places:
    """``total`` places of one process, at most ``each`` for one caller. ``what`` takes them."""

    def __init__(self, total: int, each: int, what: str) -> None:
        self._total = total
        self._each = each
        self._what = what
        self._taken: Counter[str] = Counter()

    @contextmanager
    def place(self, caller: str) -> Iterator[None]:
        """A place for the time of the block. Raises ThrottledError when there is none."""
        if self._taken.total() >= self._total or self._taken[caller] >= self._each:
            raise ThrottledError(
                f"Too many {self._what} are under way. Try again when one of them is done.",
                retry_after=RETRY_AFTER,
            )
        self._taken[caller] += 1
        try:
            yield
        finally:
            self._taken -= Counter({caller: 1})


def for_transfers(total: int) -> Places:
    """Places for uploads and downloads of media, at most half of them for one account."""
    return Places(total, max(1, total // 2), "uploads and downloads of media")


def for_large_bodies() -> Places:
    """Places for bodies that are large, but no media."""
    return Places(LARGE_BODIES, LARGE_BODIES_EACH, "large requests")
