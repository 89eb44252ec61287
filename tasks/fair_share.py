"""Bounds on slow work: one account, or one client address, cannot take all the capacity of a process."""

import math
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class TooMuchAtOnceError(Exception):
    """A bound is reached. The text says what to do."""


class Share:
    """At most ``each`` pieces of work at once for one owner, and ``total`` in this process.

    ``what`` names them in the plural.
    """

    def __init__(self, what: str, each: int, total: float = math.inf) -> None:
        self._what = what
        self._each = each
        self._total = total
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def of(self, owner: str) -> Iterator[None]:
        """Count one more of the owner inside. Raises TooMuchAtOnceError."""
        with self._lock:
            if self._taken.total() >= self._total or self._taken[owner] >= self._each:
                raise TooMuchAtOnceError(
                    f"Too many {self._what} are under way. Try again when one of them is done."
                )
            self._taken[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken -= Counter({owner: 1})
