"""Work for later that waits in the database: what deliveries, callbacks and checks of numbers share.

A claim is one conditional UPDATE. It counts the attempt, writes a token and sets the end of the lease. If the
worker dies or freezes, the lease ends, and the work is claimed again until its attempts are used up.
"""

from typing import Any

from peewee import SQL, Cast, PostgresqlDatabase, Select

from models import clock
from models.database import Prepared, database, reading

# Stable within a statement, so that an index serves a comparison with it.
SERVER_TIME = SQL("(extract(epoch FROM statement_timestamp()) * 1000)::bigint")
NO_OUTCOME = "No outcome is known: the worker ended or froze during this attempt."


def time(here: Any) -> Any:
    """The time by which work is claimed: that of PostgreSQL's server; ``here`` on SQLite, which has none.

    Hosts may disagree by minutes.
    """
    return SERVER_TIME if isinstance(database.obj, PostgresqlDatabase) else Cast(here, "bigint")


_NOW = Prepared(lambda here: Select([], [time(here)]))


def now() -> int:
    """The time by which work is claimed, in milliseconds since the epoch."""
    with reading():
        [(found,)] = _NOW.execute(clock.now())
        return int(found)
