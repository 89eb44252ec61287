"""Work for later that waits in the database: what deliveries, callbacks and checks of numbers share.

A claim is one conditional UPDATE. It counts the attempt, writes a token and sets the end of the lease. If the
worker dies or freezes, the lease ends, and the work is claimed again until its attempts are used up.
"""

from typing import Any

from peewee import PostgresqlDatabase, Select

from models import clock
from models.database import Prepared, database, reading

NO_OUTCOME = "No outcome is known: the worker ended or froze during this attempt."


def server_time() -> Any:
    """The time of a database that has a clock of its own; hosts may disagree."""
    return clock.SERVER_TIME if isinstance(database.obj, PostgresqlDatabase) else clock.NO_TIME


_NOW = Prepared(lambda: Select([], [server_time()]))


def now() -> int:
    """The time by which work is claimed: that of PostgreSQL's server, or this machine's on SQLite."""
    with reading():
        [(time,)] = _NOW.execute()
        return clock.of_server(time)
