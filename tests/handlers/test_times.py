"""Timestamps that a client sends."""

from datetime import date

import pytest

from handlers.times import parse_date, parse_time
from models.clock import timestamp
from models.errors import InvalidError


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-20T09:30:00.000Z", 1_795_167_000_000),
        ("2026-11-20T09:30:00.123456Z", 1_795_167_000_123),
        ("2026-11-20t09:30:00z", 1_795_167_000_000),
        ("2026-11-20T10:30:00+01:00", 1_795_167_000_000),
        ("2026-11-20T04:00:00.5-05:30", 1_795_167_000_500),
        ("2016-12-31T23:59:60Z", 1_483_228_799_000),
    ],
)
def test_a_time_is_read_to_the_millisecond(text: str, milliseconds: int) -> None:
    assert parse_time("since", text) == milliseconds


def test_a_written_timestamp_can_be_parsed() -> None:
    assert parse_time("since", timestamp(1_795_167_000_007)) == 1_795_167_000_007


def test_a_missing_time_is_none() -> None:
    assert parse_time("since", None) is None


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-11-20", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "1795167000"],
)
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidError, match="Query parameter since") as caught:
        parse_time("Query parameter since", text)
    assert caught.value.details == {}


def test_a_time_without_a_zone_is_refused_by_name() -> None:
    with pytest.raises(InvalidError, match="no time zone") as caught:
        parse_time("since", "2026-11-20T09:30:00", "/since")
    assert caught.value.details == {"field": "/since"}


def test_a_date_is_read_and_no_date_is_none() -> None:
    assert parse_date("since", "2024-02-29") == date(2024, 2, 29)
    assert parse_date("since", None) is None


@pytest.mark.parametrize(
    "text", ["", "2026-02-29", "20261120", "2026-W47-5", "2026-11-20T00:00:00Z"]
)
def test_any_other_date_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidError, match=r"^Query parameter since: "):
        parse_date("Query parameter since", text)
