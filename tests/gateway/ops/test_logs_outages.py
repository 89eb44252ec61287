"""What the log says of a server that is away: the news, and not each try."""

import logging
import sys
from collections.abc import Callable

import psycopg
import pytest
from peewee import OperationalError
from redis import ConnectionError as RedisConnectionError

from gateway.ops.logs import OUTAGE_SECONDS, OutageFilter

REFUSED = psycopg.OperationalError("connection failed:\n\tis it running?")


class Seconds:
    """A clock that a test moves."""

    at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Seconds:
    return Seconds()


@pytest.fixture
def outages(clock: Seconds) -> OutageFilter:
    return OutageFilter(clock)


def _peewees(cause: Exception) -> Exception:
    """As peewee raises it."""
    return OperationalError(cause, *cause.args)


def _raised_again(error: Exception) -> Exception:
    """As it comes out of another thread, where something else was being handled."""
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
        _peewees(REFUSED),
        _raised_again(_peewees(REFUSED)),
        _peewees(_peewees(REFUSED)),
        psycopg.errors.AdminShutdown("it goes"),
        psycopg.errors.CannotConnectNow("it comes"),
        RedisConnectionError("refused"),
    ],
    ids=repr,
)
def test_a_server_that_is_away_is_told_in_one_line_without_a_traceback(
    outages: OutageFilter, error: Exception
) -> None:
    record = _record(error)
    assert outages.filter(record)
    assert record.exc_info is None
    assert record.getMessage().startswith("beat failed: ")
    assert len(record.getMessage().splitlines()) == 1


def test_the_same_message_comes_once_in_a_while_and_says_how_often_it_was_left_out(
    outages: OutageFilter, clock: Seconds
) -> None:
    passed = [outages.filter(_record(REFUSED)) for _ in range(5)]
    assert passed == [True, False, False, False, False]
    clock.at += OUTAGE_SECONDS
    later = _record(REFUSED)
    assert outages.filter(later)
    assert later.__dict__["fields"] == {"omitted": 4}


def test_another_message_comes_at_once(outages: OutageFilter) -> None:
    assert outages.filter(_record(REFUSED))
    assert outages.filter(_record(REFUSED, "the claim of %s failed"))


def test_an_outage_within_a_message_counts_as_well(outages: OutageFilter) -> None:
    def warning() -> logging.LogRecord:
        args = (_peewees(REFUSED),)
        return logging.LogRecord("tasks.deliver", logging.WARNING, "", 0, "not yet: %s", args, None)

    assert outages.filter(warning())
    assert not outages.filter(warning())


def _after_an_outage() -> Exception:
    """A mistake of ours on the way out of an outage."""
    error = ValueError("a mistake")
    error.__context__ = REFUSED
    return error


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueError("a mistake"),
        _after_an_outage,
        lambda: _peewees(psycopg.errors.UndefinedTable("no such table")),
        lambda: _peewees(psycopg.errors.DiskFull("no space left")),
    ],
    ids=["mistake", "mistake in an outage", "no table", "full disk"],
)
def test_whatever_else_goes_wrong_comes_each_time_with_its_traceback(
    outages: OutageFilter, make: Callable[[], Exception]
) -> None:
    for _ in range(3):
        record = _record(make())
        assert outages.filter(record)
        assert record.exc_info is not None


def test_what_tells_of_no_error_passes(outages: OutageFilter) -> None:
    record = logging.LogRecord("tasks", logging.INFO, "", 0, "%s done", ("all",), None)
    assert outages.filter(record)
    assert record.getMessage() == "all done"
