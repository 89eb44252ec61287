"""Reads times of datetime-local inputs, in UTC, and formats spans of time."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from webhooks.envelope import timestamp

# A browser leaves out seconds that are zero.
_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?", re.ASCII
)
BAD_TIME = "This is not a valid time. Example: 2026-11-20T09:30."
# The names of the fields that filter lists by time.
TIMES = ("since", "until")


def read_moment(text: str) -> int | None:
    """Milliseconds since the epoch; None for an empty field. Raises ValueError if it is not a time."""
    if not text:
        return None
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def read_times(chosen: Mapping[str, str]) -> tuple[dict[str, int | None], dict[str, str]]:
    """The values of TIMES, and the error of each invalid field."""
    times: dict[str, int | None] = {}
    problems: dict[str, str] = {}
    for name in TIMES:
        try:
            times[name] = read_moment(chosen[name])
        except ValueError:
            problems[name] = BAD_TIME
    return times, problems


def as_typed(milliseconds: int) -> str:
    """A time, to the minute, in the format of read_moment()."""
    return timestamp(milliseconds)[: len("2026-11-20T09:30")]


def span(milliseconds: int) -> str:
    """A span of time in its two largest units, such as ``4 min 30 s``; ``0 s`` if negative."""
    seconds = max(0, round(milliseconds / 1000))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
