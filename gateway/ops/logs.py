"""Logging of the processes: one line per record on stderr, JSON for machines, text for people.

A line carries time, level, logger, message, the identifiers of the request that it belongs to, and what
the caller gives as ``extra={"fields": {...}}``. Callers name things by identifiers: no key, secret, PIN,
phone number or text of a message is ever given to a log. While PostgreSQL or Redis is away, everything that
asks for it fails all the time, so the same news comes once in a while, and without its traceback.
"""

import logging
import math
import re
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import psycopg
import redis
from peewee import DatabaseError

from tasks.telemetry import request_fields

OURS = ("gateway", "handlers", "dashboard", "tasks", "models", "networks", "webhooks")
# They warn of requests that were refused, and of traceparents that are none: the client's business.
REFUSALS = ("uvicorn.error", "opentelemetry.trace.propagation")
# How often each place of the program says that a server is away.
OUTAGE_SECONDS = 10
# A connection that breaks, or is not to be had, has no SQLSTATE. Those that do: broken connections, a server
# that goes or comes (57P), too many clients (53300).
_AWAY = ("08", "57P", "53300")
# The text of an exception is not ours to choose, so what looks like a key or secret is blotted out.
_SECRET = re.compile(r"(mk_live_|whsec_)[A-Za-z0-9_+/=-]+")
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)")


class JsonFormatter(logging.Formatter):
    """One JSON object per record; an exception is the text field ``exception`` of it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line = {"time": _iso(record), "level": record.levelname, "logger": record.name}
        line |= {"message": record.getMessage()} | _fields(record)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _blotted(orjson.dumps(line, default=str).decode())


class TextFormatter(logging.Formatter):
    """The same as ``name=value`` behind the message."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and those of an exception behind it."""
        pairs = "".join(f" {name}={value}" for name, value in _fields(record).items())
        text = f"{_iso(record)} {record.levelname} {record.name}: {record.getMessage()}{pairs}"
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return _blotted(text)


def _iso(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return f"{at.isoformat(timespec='milliseconds')}Z"


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return (request_fields.get() or {}) | getattr(record, "fields", {})


def _blotted(line: str) -> str:
    return _PASSWORD.sub(r"\1****", _SECRET.sub(r"\1****", line))


class OutageFilter(logging.Filter):
    """Lets one line about a server that is away pass in OUTAGE_SECONDS, of each message of each logger.

    It has no traceback, and says in ``omitted`` how many were left out since the last one.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._lock = threading.Lock()
        self._said: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record passes. All but outages do, as they are."""
        if (error := _outage_in(record)) is None:
            return True
        with self._lock:
            omitted = self._omitted((record.name, record.msg))
        if omitted is None:
            return False
        if record.exc_info:
            record.msg, record.args = f"{record.getMessage()}: {' '.join(str(error).split())}", ()
            record.exc_info = None
        if omitted:
            record.fields = {"omitted": omitted} | getattr(record, "fields", {})
        return True

    def _omitted(self, place: tuple[str, str]) -> int | None:
        """How many lines were left out since the last one, or None when this one is left out."""
        now = self._now()
        said_at, omitted = self._said.get(place, (-math.inf, 0))
        is_due = now - said_at >= OUTAGE_SECONDS
        self._said[place] = (now, 0) if is_due else (said_at, omitted + 1)
        return omitted if is_due else None


def _outage_in(record: logging.LogRecord) -> BaseException | None:
    """The outage that a record tells of: by its traceback, or by an exception in its message."""
    told = [record.exc_info[1] if record.exc_info else None, *(record.args or ())]
    return next(filter(_is_outage, map(_driver_error, told)), None)


def _driver_error(error: object) -> BaseException | None:
    """What the driver said, where an error is that in peewee's words."""
    while isinstance(error, DatabaseError):
        # Not its context: an error that is raised once more, in another thread, has another one.
        error = error.__cause__ or getattr(error, "orig", None)
    return error if isinstance(error, BaseException) else None


def _is_outage(error: BaseException | None) -> bool:
    if isinstance(error, psycopg.OperationalError):
        return error.sqlstate is None or error.sqlstate.startswith(_AWAY)
    return isinstance(error, redis.ConnectionError | redis.TimeoutError)


def configure_logging(log_format: str) -> None:
    """Log our own INFO and everyone's warnings. ``log_format`` is the setting LOG_FORMAT."""
    as_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    handler.addFilter(OutageFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    for name in REFUSALS:
        logging.getLogger(name).setLevel(logging.ERROR)
