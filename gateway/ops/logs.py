"""Logging of the processes: one line per record on stderr, JSON for machines, text for people.

A line carries time, level, logger, message, the identifiers of its request, and what the caller gives as
``extra={"fields": {...}}``. Callers give identifiers only: no key, secret, PIN, phone number or text of a
message. While PostgreSQL or Redis is unreachable, every use fails (gateway.ops.outages).

A thread writes the lines, so that a reader that stalls stops nobody (gateway.ops.lines).
"""

import logging
import re
import shutil
import sys
from datetime import UTC, datetime
from typing import Any

import orjson

from gateway.ops.lines import FLUSH_SECONDS, STDERR, LineWriter
from gateway.ops.outages import limit_outages
from services.telemetry import LOG_DROPPED, request_fields

# The packages of the wheel. Their loggers log INFO.
OURS = (
    "gateway",
    "handlers",
    "services",
    "resources",
    "models",
    "tasks",
    "networks",
    "webhooks",
    "dashboard",
)
# Loggers that warn of clients' mistakes: refused requests, invalid traceparents, invalid forms.
REFUSALS = ("uvicorn.error", "opentelemetry.trace.propagation", "python_multipart")
# The text of an exception may hold a key, secret or password.
_SECRET = re.compile(r"(mk_live_|whsec_)[A-Za-z0-9_+/=-]+")
_PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)")
# Shown first and as values only, because they explain themselves.
_PLAIN = ("method", "path", "event", "host", "outcome", "status")
# Only a line with one of these can hold such a text. This test takes a tenth of the time.
_MARKS = ("mk_live_", "whsec_", "://")


class JsonFormatter(logging.Formatter):
    """One JSON object per record; the field ``exception`` is the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = {"time": _iso(record), "level": record.levelname, "logger": record.name}
        line |= {"message": record.getMessage()} | _fields(record)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _masked(orjson.dumps(line, default=str).decode())


class TextFormatter(logging.Formatter):
    """The message, then the fields as ``name=value``, then the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the lines of a traceback."""
        text = self.row(record)
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return _masked(text)

    def row(self, record: logging.LogRecord) -> str:
        """The line without a traceback."""
        said = f"{record.name}: {record.getMessage()}{_pairs(_fields(record))}"
        return f"{_iso(record)} {record.levelname} {_in_one_line(said)}"


class TerminalFormatter(TextFormatter):
    """Like TextFormatter, in one row: the time of day, then the most important. Warnings are not cut."""

    def row(self, record: logging.LogRecord) -> str:
        """The line, cut to the terminal's width unless it is a warning or worse."""
        # The caller's fields come before the identifiers of its request.
        fields = getattr(record, "fields", {}) | (request_fields.get() or {})
        plain = [fields.pop(name) for name in _PLAIN if fields.get(name) is not None]
        if (took := fields.pop("duration_ms", None)) is not None:
            plain.append(f"{took} ms")
        is_warning = record.levelno > logging.INFO
        head = f"{record.levelname} {record.name}: " if is_warning else ""
        words = " ".join([f"{head}{record.getMessage()}", *map(str, plain)])
        text = f"{_iso(record)[11:19]} {_in_one_line(words + _pairs(fields))}"
        width = shutil.get_terminal_size().columns
        if is_warning or len(text) <= width:
            return text
        return f"{text[: width - 1]}\N{HORIZONTAL ELLIPSIS}"


def _pairs(fields: dict[str, Any]) -> str:
    return "".join(f" {name}={value}" for name, value in fields.items() if value is not None)


def _in_one_line(text: str) -> str:
    """The text with escapes for what could end the line or control a terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _iso(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
    return f"{at.isoformat(timespec='milliseconds')}Z"


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return (request_fields.get() or {}) | getattr(record, "fields", {})


def _masked(line: str) -> str:
    if not any(mark in line for mark in _MARKS):
        return line
    return _PASSWORD.sub(r"\1****", _SECRET.sub(r"\1****", line))


class LineHandler(logging.Handler):
    """Formats records in their own thread, and leaves the writing to another."""

    def __init__(self, descriptor: int, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._lines = LineWriter(descriptor, self._dropped, LOG_DROPPED.inc)

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line of a record soon."""
        try:
            self._lines.write(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001 - as each handler of logging
            self.handleError(record)

    def flush(self) -> None:
        """Wait for the lines, for a short time. logging calls it at exit."""
        self._lines.flush(FLUSH_SECONDS)

    def _dropped(self, lines: int) -> str:
        text = "%d lines of the log were dropped: its reader stalled"
        made = logging.LogRecord(__name__, logging.WARNING, "", 0, text, (lines,), None)
        return f"{self.format(made)}\n"


def configure_logging(log_format: str) -> None:
    """Log our own INFO and everyone's warnings. ``log_format`` is the setting LOG_FORMAT."""
    # No line shows them, and looking them up costs time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = LineHandler(STDERR, _formatter(log_format)) if sys.stderr else logging.NullHandler()
    # Requests log INFO, errors more.
    handler.addFilter(lambda record: record.levelno <= logging.INFO or limit_outages(record))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    for name in REFUSALS:
        logging.getLogger(name).setLevel(logging.ERROR)


def _formatter(log_format: str) -> logging.Formatter:
    if log_format == "auto":
        return TerminalFormatter() if sys.stderr.isatty() else JsonFormatter()
    return TextFormatter() if log_format == "text" else JsonFormatter()
