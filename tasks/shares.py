"""How much of what is slow one account may have under way in this process: the rest is for the others."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class TooMuchAtOnceError(Exception):
    """The account has its share under way already. The text says what to do."""


class Share:
    """At most ``each`` pieces of work at once for one account; ``what`` names them in the plural."""

    def __init__(self, what: str, each: int) -> None:
        self._what = what
        self._each = each
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    @contextmanager
    def of(self, account_id: str) -> Iterator[None]:
        """One more inside. Raises TooMuchAtOnceError."""
        with self._lock:
            if self._taken[account_id] >= self._each:
                raise TooMuchAtOnceError(
                    f"{self._each} {self._what} of this account are under way. Try again when one is done."
                )
            self._taken[account_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken -= Counter({account_id: 1})
