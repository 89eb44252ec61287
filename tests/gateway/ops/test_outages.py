"""An unreachable server is logged at a limited rate, in one line, without a traceback."""

import logging
import sqlite3
import sys
from collections.abc import Callable

import psycopg
import pytest
from peewee import OperationalError
from redis import ConnectionError as RedisConnectionError

from gateway.ops import outages
from gateway.ops.outages import OUTAGE_SECONDS, limit_outages
from models.database.outage import BusyError

REFUSED = psycopg.OperationalError("connection failed:\n\tis it running?")


class Seconds:
    """A clock that a test moves."""

    at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    """The clock of a process that has logged nothing yet."""
    still = Seconds()
    monkeypatch.setattr("gateway.ops.outages.time.monotonic", still)
    monkeypatch.setattr(outages, "_last_logged", {})
    return still


def _peewee_error(cause: Exception) -> Exception:
    """An error of the kind that Peewee raises."""
    return OperationalError(cause, *cause.args)


def _full() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    return error


def _raised_again(error: Exception) -> Exception:
    """Raised in another thread, which was handling another exception."""
    error.__context__ = KeyError(None)
    return error


def _record(error: Exception, message: str = "%s failed") -> logging.LogRecord:
    try:
        raise error
    except type(error):
        crash = sys.exc_info()
    return logging.LogRecord("tasks.sweep", logging.ERROR, "", 0, message, ("beat",), crash)


@pytest.mark.parametrize(
    "error",
    [
        REFUSED,
        _peewee_error(REFUSED),
        _raised_again(_peewee_error(REFUSED)),
        _peewee_error(_peewee_error(REFUSED)),
        BusyError(10),
        psycopg.errors.AdminShutdown("it goes"),
        psycopg.errors.CannotConnectNow("it comes"),
        psycopg.errors.LockNotAvailable("another holds the lock"),
        psycopg.errors.QueryCanceled("it takes too long"),
        psycopg.errors.IdleInTransactionSessionTimeout("the client says nothing"),
        psycopg.InternalError("received 2 results from command 'COMMIT'"),
        RedisConnectionError("refused"),
        _peewee_error(psycopg.errors.DiskFull("no space left")),
        _peewee_error(_full()),
    ],
    ids=repr,
)
def test_a_server_that_is_away_is_logged_in_one_line(error: Exception) -> None:
    record = _record(error)
    assert limit_outages(record)
    assert record.exc_info is None
    assert record.getMessage().startswith("beat failed: ")
    assert len(record.getMessage().splitlines()) == 1


def test_the_same_message_comes_once_in_ten_seconds(clock: Seconds) -> None:
    passed = [limit_outages(_record(REFUSED)) for _ in range(5)]
    assert passed == [True, False, False, False, False]
    clock.at += OUTAGE_SECONDS
    assert limit_outages(_record(REFUSED))


def test_another_message_comes_at_once() -> None:
    assert limit_outages(_record(REFUSED))
    assert limit_outages(_record(REFUSED, "another: %s"))


def test_an_outage_within_a_message_counts_as_well() -> None:
    def warning() -> logging.LogRecord:
        args = (_peewee_error(REFUSED),)
        return logging.LogRecord("tasks.deliver", logging.WARNING, "", 0, "not yet: %s", args, None)

    assert limit_outages(warning())
    assert not limit_outages(warning())


def _after_an_outage() -> Exception:
    """A programming error while an outage is handled."""
    error = ValueError("a mistake")
    error.__context__ = REFUSED
    return error


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueError("a mistake"),
        _after_an_outage,
        lambda: _peewee_error(psycopg.errors.UndefinedTable("no such table")),
    ],
    ids=["mistake", "mistake in an outage", "no table"],
)
def test_any_other_error_keeps_its_traceback(make: Callable[[], Exception]) -> None:
    record = _record(make())
    assert limit_outages(record)
    assert record.exc_info is not None


def test_a_record_without_an_error_passes_unchanged() -> None:
    record = logging.LogRecord("tasks", logging.INFO, "", 0, "%s done", ("all",), None)
    assert limit_outages(record)
    assert record.getMessage() == "all done"
