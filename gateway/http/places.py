"""Places for requests that cost disk space, a thread or memory for as long as the client likes to take.

They are counted, and one caller alone cannot take them all (docs/decisions/0015-media-through-us.md).
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from handlers.errors import ThrottledError

RETRY_AFTER = 5


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
