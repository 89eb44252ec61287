"""Logging of the processes: one line per record on stderr, JSON for machines, text for people.

A line carries time, level, logger, message, the identifier of the request that it belongs to, and what
the caller gives as ``extra={"fields": {...}}``. Callers name things by identifiers: no key, secret, PIN,
phone number or text of a message is ever given to a log.
"""

import logging
import re
import sys
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from gateway.ops.outages import OutageFilter

OURS = ("gateway", "handlers", "dashboard", "tasks", "models", "networks", "webhooks")
# The text of an exception is not ours to choose, so what looks like a key or secret is blotted out.
_SECRET = re.compile(r"(mk_live_|whsec_)[A-Za-z0-9_+/=-]+")
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)")


@dataclass(frozen=True)
class RequestContext:
    """The request under way; ``facts`` is what its own line says beyond what holds for every request."""

    request_id: str
    facts: dict[str, Any] = field(default_factory=dict)


current_request: ContextVar[RequestContext | None] = ContextVar("current_request", default=None)


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
    request = current_request.get()
    given: dict[str, Any] = getattr(record, "fields", {})
    return given if request is None else {"request_id": request.request_id} | given


def _blotted(line: str) -> str:
    return _PASSWORD.sub(r"\1****", _SECRET.sub(r"\1****", line))


def configure_logging(log_format: str) -> None:
    """Log our own INFO and everyone's warnings. ``log_format`` is the setting LOG_FORMAT."""
    as_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    handler.addFilter(OutageFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    # A refused request is the client's business, not a warning for the operator.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
