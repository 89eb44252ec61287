"""Timestamps that a client sends, to milliseconds since the epoch, and dates."""

import re
from contextlib import suppress
from datetime import date, datetime

from handlers.errors import InvalidError

MAX_SHOWN_CHARACTERS = 64
# RFC 3339, its time zone apart. fromisoformat() would take many more forms.
_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LEAP_SECOND = re.compile(r"(T[0-9]{2}:[0-9]{2}):60")


def parse_time(name: str, text: str | None, field: str | None = None) -> int | None:
    """Milliseconds since the epoch, None for None. Raises InvalidError.

    The error calls the value ``name``. ``field`` is the JSON pointer to it.
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
        message = f"{shown} has no time zone. Write Z or an offset at its end."
        raise InvalidError(message, field=field)
    return round(moment.timestamp() * 1000)


def parse_date(name: str, text: str | None) -> date | None:
    """A date, None for None. Raises InvalidError, which calls the value ``name``."""
    if text is None:
        return None
    # fromisoformat() would take more forms.
    if _DATE.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    shown = text[:MAX_SHOWN_CHARACTERS]
    raise InvalidError(f"{name}: {shown!r} is not a date such as 2026-11-20.")


def _read(text: str) -> datetime:
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    # datetime knows no leap second: it counts as the second before it.
    return datetime.fromisoformat(_LEAP_SECOND.sub(r"\1:59", text))
