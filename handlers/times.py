"""Parses timestamps and dates that a client sends."""

import re
from contextlib import suppress
from datetime import date, datetime

from models.errors import InvalidError

MAX_SHOWN_CHARACTERS = 64
# RFC 3339, with the time zone as a separate group. fromisoformat() would accept many more forms.
_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LEAP_SECOND = re.compile(r"(T[0-9]{2}:[0-9]{2}):60")


def parse_time(name: str, text: str | None, field: str | None = None) -> int | None:
    """A timestamp in milliseconds since the epoch, None for None. Raises InvalidError.

    ``name`` is the name of the value in the error, ``field`` the JSON pointer to it.
    """
    if text is None:
        return None
    shown = f"{name}: {text[:MAX_SHOWN_CHARACTERS]!r}"
    try:
        moment = _read(text.upper())
    except ValueError:
        message = f"{shown} is not an ISO 8601 timestamp such as 2026-11-20T09:30:00.000Z."
        raise InvalidError(message, field=field) from None
    if moment.tzinfo is None:
        message = f"{shown} has no time zone. Add Z or an offset at its end."
        raise InvalidError(message, field=field)
    return round(moment.timestamp() * 1000)


def parse_date(name: str, text: str | None) -> date | None:
    """A date, None for None. Raises InvalidError, in which ``name`` is the name of the value."""
    if text is None:
        return None
    # fromisoformat() would accept more forms.
    if _DATE.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    shown = text[:MAX_SHOWN_CHARACTERS]
    raise InvalidError(f"{name}: {shown!r} is not a date such as 2026-11-20.")


def _read(text: str) -> datetime:
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    # datetime has no leap seconds, so one counts as the second before.
    return datetime.fromisoformat(_LEAP_SECOND.sub(r"\1:59", text))
