"""Timestamps that a client sends: ISO 8601 to milliseconds since the epoch."""

from datetime import UTC, datetime

from handlers.errors import InvalidError

LEAP_SECOND = ":60"


def parse_time(name: str, text: str | None) -> int | None:
    """Milliseconds since the epoch, None for None. Raises InvalidError that names the field."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.upper().replace(LEAP_SECOND, ":59"))
    except ValueError:
        raise InvalidError(
            f"{name}: {text!r} is not an ISO 8601 timestamp such as 2026-11-20T09:30:00.000Z."
        ) from None
    if moment.tzinfo is None:
        raise InvalidError(f"{name}: {text!r} has no time zone. Write Z or an offset at its end.")
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
