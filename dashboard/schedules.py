"""The part of a form that says when and how fast a broadcast is sent."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from models.broadcasts.broadcast import AtLimit
from models.clock import timestamp

# The fewest and the most messages a second.
RATES = (1, 1_000)
LATER, ANY_TIME = "later", "any"
# After each time of the contract.
LAST = "~"


@cache
def zones() -> list[str]:
    """The names of the time zones that a form offers. UTC is the first."""
    places = {name for name in available_timezones() if name.startswith(_AREAS)}
    return ["UTC", *sorted(places)]


_AREAS = (
    *("Africa/", "America/", "Antarctica/", "Arctic/", "Asia/", "Atlantic/", "Australia/"),
    *("Europe/", "Indian/", "Pacific/"),
)


def read_schedule(form: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The members of the request to create a broadcast, and the error of each invalid field."""
    found: dict[str, Any] = {"atMessagingLimit": form.get("at_limit", AtLimit.WAIT)}
    problems: dict[str, str] = {}
    times = {"start_at": "startAt"} if form.get("start") == LATER else {}
    times |= {"expires_at": "expiresAt"} if form.get("expires_at") else {}
    for name, member in times.items():
        try:
            found[member] = _moment(form.get(name, ""), form.get("zone", ""))
        except ValueError as error:
            problems[name] = str(error)
    if found.get("expiresAt", LAST) <= found.get("startAt", ""):
        problems["expires_at"] = "Give a time after the start."
    if rate := form.get("rate", "").strip():
        if rate.isascii() and rate.isdecimal() and RATES[0] <= int(rate[:5]) <= RATES[1]:
            found["ratePerSecond"] = int(rate)
        else:
            problems["rate"] = f"Give a whole number from {RATES[0]} to {RATES[1]:,}, or nothing."
    if form.get("hours") == ANY_TIME:
        found["localHours"] = {"begin": "00:00", "end": "24:00"}
    elif form.get("begin") and form.get("end"):
        found["localHours"] = {"begin": form["begin"], "end": form["end"]}
        if form["begin"] >= form["end"]:
            problems["end"] = "Give an end after the begin. Hours do not cross midnight."
    else:
        problems["end"] = "Give the begin and the end, or choose any time."
    return found, problems


def _moment(text: str, zone: str) -> str:
    """The time of the contract for a datetime-local input in a time zone, the first of two that are alike.

    Raises ValueError with what to correct.
    """
    try:
        local = datetime.fromisoformat(text)
    except ValueError:
        local = None
    if local is None or local.tzinfo is not None or zone not in zones():
        raise ValueError("Give a day and a time, and choose a time zone from the list.")
    place = ZoneInfo(zone)
    at = local.replace(tzinfo=place).astimezone(UTC)
    if at.astimezone(place).replace(tzinfo=None) != local:
        raise ValueError(
            f"In {zone}, the clocks skip {local:%H:%M} on this day. Give an earlier or a later time."
        )
    return timestamp(round(at.timestamp() * 1000))
