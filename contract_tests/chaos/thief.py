"""A relay to PostgreSQL that loses the responses to some commits, and the connection with them."""

import itertools
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from contract_tests.relay import Ends, Relay

# The text of the statement ends there. A BEGIN has the word too: READ COMMITTED.
COMMIT = b"COMMIT\0"


class Thief(Relay):
    """Forwards everything. While it steals, it cuts some connections instead of answering their commits.

    The commit itself succeeds. The client cannot know that.
    """

    def __init__(self, target_port: int) -> None:
        self._commits = itertools.count(1)
        self._every: int | None = None
        self._robbed: set[socket.socket] = set()
        self.stolen = 0
        super().__init__(target_port)

    @contextmanager
    def stealing(self, every: int) -> Iterator[None]:
        """Steal the response to one commit in ``every`` while the block runs."""
        self._every = every
        try:
            yield
        finally:
            self._every = None

    def steal_next(self) -> None:
        """Steal the response to the next commit only."""
        self._commits, self._every = itertools.count(), sys.maxsize

    def _forward(self, data: bytes, ends: Ends) -> bool:
        source, sink = ends
        if source in self._robbed:
            self.stolen += 1
            return False
        if COMMIT in data and self._every and next(self._commits) % self._every == 0:
            self._robbed.add(sink)
        return super()._forward(data, ends)
