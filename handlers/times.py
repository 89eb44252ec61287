"""Timestamps that a client sends: ISO 8601 in the form of RFC 3339 to milliseconds since the epoch."""

import re
from datetime import UTC, datetime

from handlers.errors import Details, InvalidError

MAX_SHOWN_CHARACTERS = 64
# The minute, the second, and what follows; fromisoformat() would take many more forms.
_FORM = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:)([0-9]{2})"
    r"((?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)"
)
_LEAP_SECOND = "60"


def parse_time(name: str, text: str | None, field: str | None = None) -> int | None:
    """Milliseconds since the epoch, None for None. Raises InvalidError that names the field.

    ``field`` is the JSON pointer to it, where it stands in the request body.
    """
    if text is None:
        return None
    shown, details = f"{name}: {text[:MAX_SHOWN_CHARACTERS]!r}", Details(field=field)
    try:
        moment = datetime.fromisoformat(_without_leap_second(text.upper()))
    except ValueError:
        raise InvalidError(
            f"{shown} is not an ISO 8601 timestamp such as 2026-11-20T09:30:00.000Z.",
            details=details,
        ) from None
    if moment.tzinfo is None:
        raise InvalidError(
            f"{shown} has no time zone. Write Z or an offset at its end.", details=details
        )
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def _without_leap_second(text: str) -> str:
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(text)
    minute, second, rest = form.groups()
    return f"{minute}{'59' if second == _LEAP_SECOND else second}{rest}"
