"""Whether an error means that PostgreSQL is unreachable, and not that a statement or its data are wrong.

The same work succeeds once the server, or its successor, is there again.
"""

import psycopg
from peewee import DatabaseError, InterfaceError, InternalError, OperationalError

# SQLSTATEs of an outage: broken connection (08), too many clients (53300), server stopping or starting and
# statement_timeout (57), lock_timeout (55P03), idle_in_transaction_session_timeout (25P03). A connection that
# cannot be opened, or that breaks, has no SQLSTATE. A server that is read-only (25006) is a former primary.
_AWAY = ("08", "53300", "57", "55P03", "25P03", "25006")

# The database cannot be written now. Any other error is caused by the data.
UNAVAILABLE = (OperationalError, InterfaceError, InternalError)


def driver_error(error: object) -> object:
    """The error of the driver that peewee's error wraps."""
    while isinstance(error, DatabaseError):
        # Not __context__: an error raised again in another thread has another one.
        error = error.__cause__ or getattr(error, "orig", None)
    return error


def is_silence(error: object) -> bool:
    """Whether an error of peewee or psycopg means that the server did not respond in time."""
    return isinstance(driver_error(error), psycopg.errors.ConnectionTimeout)


def is_outage(error: object) -> bool:
    """Whether an error of peewee or psycopg means that the server is unreachable."""
    error = driver_error(error)
    # psycopg itself raises InternalError if the connection ends in the response to a COMMIT.
    if isinstance(error, psycopg.OperationalError | psycopg.InternalError):
        return error.sqlstate is None or error.sqlstate.startswith(_AWAY)
    return False
