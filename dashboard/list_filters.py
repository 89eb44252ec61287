"""Reads the filters of lists in the URL: choices, and times of datetime-local inputs, in UTC."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from flask import request

from models.clock import timestamp

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
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def read_filters(
    choices: Mapping[str, Collection[str]], *names: str
) -> tuple[dict[str, str], dict[str, int | None], dict[str, str]]:
    """The filters of the URL as typed, the values of TIMES, and the error of each invalid field.

    Filters are those of ``choices``, which must have one of these values, TIMES, and ``names``.
    """
    chosen = {name: request.args.get(name, "").strip() for name in (*names, *choices, *TIMES)}
    times: dict[str, int | None] = {}
    problems = {
        name: f"There is no such {name}. Choose one of the list."
        for name, known in choices.items()
        if chosen[name] not in {"", *known}
    }
    for name in TIMES:
        try:
            times[name] = read_moment(chosen[name])
        except ValueError:
            problems[name] = BAD_TIME
    return chosen, times, problems


def as_typed(milliseconds: int) -> str:
    """A time, to the minute, in the format of read_moment()."""
    return timestamp(milliseconds)[: len("2026-11-20T09:30")]
