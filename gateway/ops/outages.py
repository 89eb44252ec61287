"""What the log says while PostgreSQL or Redis is away: a line now and then, not a traceback for each try.

Everything asks for them all the time, so an outage of minutes would fill a disk with one and the same news.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
from peewee import DatabaseError
from redis import ConnectionError as RedisConnectionError
from redis import TimeoutError as RedisTimeoutError

# How often each place of the program says that it cannot go on.
SAY_SECONDS = 10
# A connection that breaks, or is not to be had, has no SQLSTATE. Those that do: broken connections, a server
# that goes or comes (57P), too many clients (53300).
_AWAY = ("08", "57P", "53300")


class OutageFilter(logging.Filter):
    """Shortens what is logged about a server that is away, and lets each message pass once in a while.

    The line says in ``omitted`` how often the same was left out since the last one.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._lock = threading.Lock()
        self._said: dict[tuple[str, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record passes. All but outages do, as they are."""
        error = next(_told(record), None)
        if error is None:
            return True
        with self._lock:
            omitted = self._omitted(record.name, record.msg)
        if omitted is None:
            return False
        _shorten(record, error, omitted)
        return True

    def _omitted(self, *place: str) -> int | None:
        """How often a message was left out since its last line, or None when it is left out now."""
        now = self._now()
        said_at, omitted = self._said.get(place, (-math.inf, 0))
        if now - said_at < SAY_SECONDS:
            self._said[place] = said_at, omitted + 1
            return None
        self._said[place] = now, 0
        return omitted


def _told(record: logging.LogRecord) -> Iterator[BaseException]:
    """The outages that a record tells of: by its traceback, or by an exception in its message."""
    errors = [record.exc_info[1] if record.exc_info else None]
    errors += [told for told in record.args or () if isinstance(told, BaseException)]
    yield from filter(None, map(_outage, errors))


def _outage(error: BaseException | None) -> BaseException | None:
    """The driver's word that its server is away, where the error is that in other words."""
    while isinstance(error, DatabaseError):
        # Not its context: an error that is raised once more, in another thread, has another one.
        error = error.__cause__ or getattr(error, "orig", None)
    return error if error is not None and _is_outage(error) else None


def _is_outage(error: BaseException) -> bool:
    if isinstance(error, psycopg.OperationalError):
        return error.sqlstate is None or error.sqlstate.startswith(_AWAY)
    return isinstance(error, RedisConnectionError | RedisTimeoutError)


def _shorten(record: logging.LogRecord, error: BaseException, omitted: int) -> None:
    if record.exc_info:
        reason = " ".join(str(error).split())
        record.msg, record.args = "%s: %s", (record.getMessage(), reason)
        record.exc_info = None
    if omitted:
        record.fields = {"omitted": omitted} | getattr(record, "fields", {})
