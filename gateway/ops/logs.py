"""Logging of the processes: one line per record on stderr, JSON for machines, text for people.

A line carries time, level, logger, message, the identifiers of its request, and what the caller gives as
``extra={"fields": {...}}``. Callers give identifiers only: no key, secret, PIN, phone number or text of a
message. While PostgreSQL or Redis is unreachable, every use fails (gateway.ops.outages).

A thread writes the lines, so that a reader that stalls stops nobody. While the reader of a pipe is halted,
lines wait in memory. Those beyond MOST_BYTES are dropped and counted. So are lines that cannot be written,
for example because the reader has ended.
"""

import contextlib
import io
import logging
import os
import re
import select
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

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
STDOUT, STDERR = 1, 2
# Seconds that the end of a process may wait for the reader.
FLUSH_SECONDS = 1
# The most waiting text: some thousand lines.
MOST_BYTES = 1 << 20
# Seconds to wait for more lines: under load, one write has the lines of many requests.
LINGER_SECONDS = 0.1
# POSIX writes so many bytes to a pipe at once, even if several processes write to it.
TOGETHER_BYTES = 4096
# Seconds between two looks at a descriptor that another process has made non-blocking.
FULL_SECONDS = 1
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


class LineWriter:
    """Writes to ``descriptor``. ``notice`` makes the line that says how many lines were dropped."""

    def __init__(self, descriptor: int, notice: Callable[[int], str]) -> None:
        self._descriptor = descriptor
        self._notice = notice
        # Reentrant: a signal's handler may log while its thread is in write().
        self._changed = threading.Condition(threading.RLock())
        self._waiting: list[bytes] = []
        # The bytes of lines that wait or are being written.
        self._size = 0
        self._lost = 0
        threading.Thread(target=self._serve, name="lines", daemon=True).start()

    def write(self, text: str) -> None:
        """Write lines, each with its newline, soon. Never waits."""
        data = text.encode("utf-8", "backslashreplace")
        with self._changed:
            if self._size + len(data) > MOST_BYTES:
                self._drop(1)
                return
            self._waiting.append(data)
            self._size += len(data)
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait up to ``seconds`` until all lines are written. Returns False if some are not."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._size, seconds)

    def _drop(self, lines: int) -> None:
        with self._changed:
            self._lost += lines
        LOG_DROPPED.inc(lines)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
            time.sleep(LINGER_SECONDS)
            with self._changed:
                batch, self._waiting = self._waiting, []
            for piece in _pieces(batch):
                if not self._is_written(piece):
                    self._drop(piece.count(b"\n"))
            # The dropped lines came after these. A notice that cannot be written waits for the next line.
            lost = self._lost
            is_noted = lost and self._is_written(self._notice(lost).encode())
            with self._changed:
                self._lost -= lost if is_noted else 0
                self._size -= sum(map(len, batch))
                self._changed.notify_all()

    def _is_written(self, piece: bytes) -> bool:
        rest = memoryview(piece)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                select.select([], [self._descriptor], [], FULL_SECONDS)
            except OSError:
                # Nobody reads any more, or the disk is full.
                return False
        return True


def _pieces(batch: list[bytes]) -> Iterator[bytes]:
    """Join lines as long as the kernel writes them at once. A longer line is a piece of its own."""
    piece = b""
    for line in batch:
        if piece and len(piece) + len(line) > TOGETHER_BYTES:
            yield piece
            piece = b""
        piece += line
    if piece:
        yield piece


class TextLines(io.TextIOBase):
    """A LineWriter as a text stream, for programs that print."""

    def __init__(self, lines: LineWriter) -> None:
        super().__init__()
        self._lines = lines

    def write(self, text: str) -> int:
        self._lines.write(text)
        return len(text)


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Print to stdout and stderr by threads while the block runs."""
    writers = [
        LineWriter(descriptor, "{} lines were dropped\n".format) for descriptor in (STDOUT, STDERR)
    ]
    out, err = map(TextLines, writers)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        for writer in writers:
            writer.flush(FLUSH_SECONDS)


class LineHandler(logging.Handler):
    """Formats records in their own thread, and leaves the writing to another."""

    def __init__(self, descriptor: int, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._lines = LineWriter(descriptor, self._dropped)

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
