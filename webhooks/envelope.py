"""The bytes of events: the envelope (docs/webhooks.md). The objects in it are those of ``resources``."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from webhooks.kinds import EventKind

# orjson fails for half of a surrogate pair, which a text of the network may contain.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def timestamp(milliseconds: int) -> str:
    """ISO 8601 with milliseconds and ``Z``."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def moment(milliseconds: int | None) -> str | None:
    """Like ``timestamp``, and None for None."""
    return None if milliseconds is None else timestamp(milliseconds)


def envelope(kind: EventKind, at: int, data: Mapping[str, Any]) -> str:
    """The event as the JSON text whose UTF-8 bytes are sent."""
    event = {"event": kind, "timestamp": timestamp(at), "data": data}
    return _encode(event)
