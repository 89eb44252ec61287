"""Whether an error means that the database is unavailable, and not that a statement or its data are wrong.

The same work succeeds once the server, or its successor, is there again, or SQLite's lock is free.
"""

import psycopg
from peewee import DatabaseError, InterfaceError, InternalError, OperationalError

# SQLSTATEs of an outage: broken connection (08), too many clients (53300), server stopping or starting and
# statement_timeout (57), lock_timeout (55P03), idle_in_transaction_session_timeout (25P03). A connection that
# cannot be opened, or that breaks, has no SQLSTATE. A server that is read-only (25006) is a former primary.
_AWAY = ("08", "53300", "57", "55P03", "25P03", "25006")

# The database cannot be written now. Any other error is caused by the data.
UNAVAILABLE = (OperationalError, InterfaceError, InternalError)


class BusyError(OperationalError):
    """Another writer kept SQLite's lock for too long. Nothing was written."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"another writer has kept the database locked for {seconds} s")


def driver_error(error: object) -> object:
    """The error of the driver that peewee's error wraps."""
    while isinstance(error, DatabaseError):
        # Not __context__: an error raised again in another thread has another one.
        error = error.__cause__ or getattr(error, "orig", None)
    return error


def has_waited(error: object) -> bool:
    """Whether a wait for the server or for a lock was too long: other work would wait as long again."""
    waits = psycopg.errors.ConnectionTimeout, psycopg.errors.LockNotAvailable
    return isinstance(driver_error(error), waits)


def is_outage(error: object) -> bool:
    """Whether an error of peewee or psycopg means that the database is unavailable."""
    if isinstance(error, BusyError):
        return True
    error = driver_error(error)
    # psycopg itself raises InternalError if the connection ends in the response to a COMMIT.
    if isinstance(error, psycopg.OperationalError | psycopg.InternalError):
        return error.sqlstate is None or error.sqlstate.startswith(_AWAY)
    return False
