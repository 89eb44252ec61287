"""Limits on concurrent slow work, so that one account or client address cannot block a process."""

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from models.errors import RateLimitedError

# Seconds until other slow requests may have ended.
RETRY_AFTER = 5


class Share:
    """Allows ``each`` concurrent pieces of work for one owner, and ``total`` in this process.

    ``what`` is the name of the work, in the plural, for the error.
    """

    def __init__(self, what: str, each: int, total: float = math.inf) -> None:
        self._what = what
        self._each = each
        self._total = total
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def of(self, owner: str) -> Iterator[None]:
        """Count a piece of the owner's work while inside. Raises RateLimitedError."""
        with self._lock:
            if self._taken.total() >= self._total or self._taken[owner] >= self._each:
                raise RateLimitedError(
                    f"Too many {self._what} are running. Try again when one of them has finished.",
                    retry_after=RETRY_AFTER,
                )
            self._taken[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken -= Counter({owner: 1})
