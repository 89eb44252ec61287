"""The time of PostgreSQL's server, without a round trip for each use: its distance to a steady clock."""

from typing import Any

from models.database.wall_clock import steady

_ASK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# Milliseconds. A measurement that took longer, or differs by less, changes nothing.
MOST_TRIP_MS, NOISE_MS = 200, 20


class ServerTime:
    """``offset`` is what to add to the steady clock. None before the first connection, and on SQLite."""

    offset: int | None = None

    def measure(self, session: Any) -> None:
        """Ask the server over this idle session. Raises psycopg.Error."""
        before = steady()
        (at,) = session.execute(_ASK).fetchone()
        trip = steady() - before
        offset = at - before - trip // 2
        if self.offset is None or (
            trip <= MOST_TRIP_MS and abs(offset - self.offset) > trip + NOISE_MS
        ):
            self.offset = offset

    def forget(self) -> None:
        """Another database is used from now on."""
        self.offset = None


server_time = ServerTime()
