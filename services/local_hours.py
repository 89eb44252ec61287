"""The hours of people's days, by the country or area of their phone numbers.

The library phonenumbers knows the time zones of a number. A mobile number of a large country may be in any
of its zones: then it must be the right time in all of them, or if it never is, in the middle one. A number
without a known zone, and a user id, count as in UTC.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import phonenumbers
from phonenumbers import timezone

# From and until a minute of the day, each None for any time.
Hours = tuple[int | None, int | None]
DAY_MINUTES = 24 * 60
# The hours of marketing, unless a broadcast names others.
MARKETING_HOURS = (8 * 60, 21 * 60)
MINUTE_MS = 60_000
# Numbers of one length with the same first digits are in the same area. A look-up takes 0.1 ms.
AREA_DIGITS, MOST_AREAS = 8, 50_000
UNKNOWN = (ZoneInfo("UTC"),)
_of_areas: dict[tuple[str, int], tuple[ZoneInfo, ...]] = {}


def next_opening(person: str, hours: Hours, now: int) -> int | None:
    """When these hours of the person's day begin next, None if it is now. Times are in milliseconds."""
    begins, ends = hours
    if begins is None or ends is None or (begins, ends) == (0, DAY_MINUTES):
        return None
    minute = _opening(_zones(person), (begins, ends), now // MINUTE_MS)
    return None if minute is None else minute * MINUTE_MS


def minute_of(text: str) -> int:
    """The minute of the day of a text like 09:30. 24:00 is the end of the day."""
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def _zones(person: str) -> tuple[ZoneInfo, ...]:
    """The time zones of a phone number, from west to east."""
    if not person.isdecimal():
        return UNKNOWN
    area = person[:AREA_DIGITS], len(person)
    if area not in _of_areas:
        if len(_of_areas) >= MOST_AREAS:
            _of_areas.clear()
        _of_areas[area] = _look_up(person)
    return _of_areas[area]


def _look_up(phone: str) -> tuple[ZoneInfo, ...]:
    try:
        names = timezone.time_zones_for_number(phonenumbers.parse(f"+{phone}"))
        zones = [ZoneInfo(name) for name in names if name != timezone.UNKNOWN_TIMEZONE]
    except (phonenumbers.NumberParseException, ZoneInfoNotFoundError):
        return UNKNOWN
    at = datetime.now(UTC)
    zones.sort(key=lambda zone: (at.astimezone(zone).utcoffset(), zone.key))
    return tuple(zones) or UNKNOWN


@lru_cache(10_000)
def _opening(zones: Sequence[ZoneInfo], hours: tuple[int, int], minute: int) -> int | None:
    at = datetime.fromtimestamp(minute * 60, UTC)
    for chosen in (zones, zones[len(zones) // 2 :][:1]):
        if all(_is_open(zone, hours, at) for zone in chosen):
            return None
        starts = sorted(start for zone in chosen for start in _next_starts(zone, hours[0], at))
        for start in starts:
            if all(_is_open(zone, hours, start) for zone in chosen):
                return int(start.timestamp()) // 60
    raise AssertionError("no zone skips these hours on two days in a row")


def _is_open(zone: ZoneInfo, hours: tuple[int, int], at: datetime) -> bool:
    local = at.astimezone(zone)
    begins, ends = hours
    return begins <= local.hour * 60 + local.minute < ends


def _next_starts(zone: ZoneInfo, begins: int, at: datetime) -> Iterator[datetime]:
    """When this minute of the day comes in a zone, on the next days.

    On the day that skips it, it comes an hour later: then short hours may be over, and the next day counts.
    """
    day = at.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    for days in range(3):
        local = day + timedelta(days=days, minutes=begins)
        start = local.replace(tzinfo=zone).astimezone(UTC)
        if start > at:
            yield start
