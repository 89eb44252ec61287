"""The hours of people's days: by the area of the number, over the changes of daylight saving time."""

from datetime import UTC, datetime

import pytest

from services.local_hours import MARKETING_HOURS, minute_of, next_opening

BERLIN, NEW_YORK, INDIA = "4917112345678", "12125551234", "919812345678"
# Its clocks change by half an hour, and those of the other at midnight.
LORD_HOWE, BEIRUT = "61265632345", "9613123456"
# Its mobile numbers are in any of eleven zones, ten hours apart.
RUSSIA = "79161234567"
# A toll-free number: its zones are never all awake.
TOLL_FREE = "18005551234"


def _at(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _opening(person: str, now: str, hours: tuple[int | None, int | None] = MARKETING_HOURS) -> str:
    found = next_opening(person, hours, _at(now))
    return "now" if found is None else datetime.fromtimestamp(found / 1000, UTC).isoformat()


@pytest.mark.parametrize(
    ("person", "now", "opening"),
    [
        (BERLIN, "2026-11-20T06:59:00+00:00", "2026-11-20T07:00:00+00:00"),
        (BERLIN, "2026-11-20T07:00:00+00:00", "now"),
        (BERLIN, "2026-11-20T19:59:59+00:00", "now"),
        (BERLIN, "2026-11-20T20:00:00+00:00", "2026-11-21T07:00:00+00:00"),
        (NEW_YORK, "2026-11-20T12:59:00+00:00", "2026-11-20T13:00:00+00:00"),
        (NEW_YORK, "2026-11-21T01:59:00+00:00", "now"),
        (INDIA, "2026-11-20T02:29:00+00:00", "2026-11-20T02:30:00+00:00"),
    ],
)
def test_the_hours_are_those_of_the_recipient(person: str, now: str, opening: str) -> None:
    assert _opening(person, now) == opening


@pytest.mark.parametrize(
    ("now", "opening"),
    [
        # The day before the clocks change, and the day itself: 8:00 is at another time in UTC.
        ("2026-03-28T21:00:00+00:00", "2026-03-29T06:00:00+00:00"),
        ("2026-10-24T20:00:00+00:00", "2026-10-25T07:00:00+00:00"),
    ],
)
def test_the_hour_is_that_of_the_clock_after_it_changed(now: str, opening: str) -> None:
    assert _opening(BERLIN, now) == opening


def test_an_hour_that_the_day_skips_comes_an_hour_later() -> None:
    hours = minute_of("02:30"), minute_of("05:00")
    assert _opening(BERLIN, "2026-03-29T00:30:00+00:00", hours) == "2026-03-29T01:30:00+00:00"


@pytest.mark.parametrize("person", [BERLIN, TOLL_FREE, LORD_HOWE, BEIRUT])
def test_a_night_with_a_change_has_an_opening_for_each_hour(person: str) -> None:
    """The opening is within the hours, and within three days."""
    for begins in range(0, 4 * 60, 15):
        hours = begins, begins + 15
        for night in ("2026-03-28T12:00", "2026-10-03T06:00"):
            for minutes in range(0, 24 * 60, 30):
                now = _at(f"{night}:00+00:00") + minutes * 60_000
                opening = next_opening(person, hours, now)
                if opening is not None:
                    assert now < opening <= now + 3 * 86_400_000
                    assert next_opening(person, hours, opening) is None


def test_an_hour_that_comes_twice_holds_twice() -> None:
    hours = minute_of("02:15"), minute_of("02:45")
    for now in ("2026-10-25T00:30:00+00:00", "2026-10-25T01:30:00+00:00"):
        assert _opening(BERLIN, now, hours) == "now"
    assert _opening(BERLIN, "2026-10-24T12:00:00+00:00", hours) == "2026-10-25T00:15:00+00:00"


def test_hours_too_short_for_the_night_that_skips_them_wait_a_day() -> None:
    hours = minute_of("02:00"), minute_of("02:45")
    assert _opening(BERLIN, "2026-03-28T12:00:00+00:00", hours) == "2026-03-30T00:00:00+00:00"


def test_a_number_of_several_zones_waits_until_the_hours_hold_in_all() -> None:
    # 8:00 in the west is 20:00 in the east.
    found = _opening(RUSSIA, "2026-11-20T00:00:00+00:00")
    assert found != "now"
    moment = datetime.fromisoformat(found)
    assert _opening(RUSSIA, found) == "now"
    assert 8 <= moment.hour + 2 < 21
    assert 8 <= moment.hour + 12 < 21


def test_the_middle_zone_decides_if_the_hours_never_hold_in_all() -> None:
    found = _opening(TOLL_FREE, "2026-11-20T03:00:00+00:00")
    assert "2026-11-20T" in found
    assert _opening(TOLL_FREE, found) == "now"


@pytest.mark.parametrize("person", ["DE.1001", "15551234567", "9990001234567"])
def test_a_person_without_a_known_zone_is_in_utc(person: str) -> None:
    assert _opening(person, "2026-11-20T07:59:00+00:00") == "2026-11-20T08:00:00+00:00"
    assert _opening(person, "2026-11-20T08:00:00+00:00") == "now"


@pytest.mark.parametrize("hours", [(None, None), (0, 24 * 60)])
def test_any_time_is_now(hours: tuple[int | None, int | None]) -> None:
    assert _opening(BERLIN, "2026-11-20T03:00:00+00:00", hours) == "now"
