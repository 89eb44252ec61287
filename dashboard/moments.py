"""Times that people type: what an input of the type datetime-local sends, read as UTC."""

import re
from datetime import UTC, datetime

# A browser leaves out seconds that are zero.
_FORM = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?", re.ASCII
)
BAD_TIME = "This is no time such as 2026-11-20T09:30."


def read_moment(text: str) -> int | None:
    """Milliseconds since the epoch, None for an empty field. Raises ValueError."""
    if not text:
        return None
    if not _FORM.fullmatch(text):
        raise ValueError(text)
    moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
