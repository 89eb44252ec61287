"""Limits the log during an outage, when every use of the database or Redis fails in the same way."""

import errno
import logging
import sqlite3
import time

import psycopg
import redis

from models.database import outage
from models.database.outage import driver_error

# The error numbers of a full disk, a full quota and a disk that fails.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
# Seconds between two identical messages of a logger about an outage.
OUTAGE_SECONDS = 10
_last_logged: dict[tuple[str, str], float] = {}


def limit_outages(record: logging.LogRecord) -> bool:
    """A filter for handlers: an outage is logged once in OUTAGE_SECONDS for each message of a logger.

    So is a full disk, and a frozen process that keeps SQLite's lock. The error's text replaces the traceback.
    """
    given = (record.exc_info[1] if record.exc_info else None, *(record.args or ()))
    errors = (each for each in given if isinstance(each, Exception))
    found = (driver_error(error) or error for error in errors if _is_repeated(error))
    repeated = next(found, None)
    if repeated is None:
        return True
    place, now = (record.name, record.msg), time.monotonic()
    if now < _last_logged.get(place, -OUTAGE_SECONDS) + OUTAGE_SECONDS:
        return False
    _last_logged[place] = now
    if record.exc_info:
        record.msg, record.args = f"{record.getMessage()}: {' '.join(str(repeated).split())}", ()
        record.exc_info = None
    return True


def _is_repeated(error: object) -> bool:
    """Whether each use of the database or Redis currently fails in the same way."""
    return is_outage(error) or is_full(error)


def is_outage(error: object) -> bool:
    """Whether an error means that the database or Redis is unavailable."""
    return outage.is_outage(error) or isinstance(
        driver_error(error), redis.ConnectionError | redis.TimeoutError
    )


def is_full(error: object) -> bool:
    """Whether an error means that a disk is full or fails."""
    error = driver_error(error)
    if isinstance(error, sqlite3.Error):
        name = getattr(error, "sqlite_errorname", "")
        return str(name).startswith(("SQLITE_FULL", "SQLITE_IOERR"))
    if isinstance(error, OSError):
        return error.errno in FULL
    return isinstance(error, psycopg.errors.DiskFull)
