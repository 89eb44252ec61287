"""The JSON of events: the envelope (docs/webhooks.md), and the EventRecord object of the contract."""

import json
from collections.abc import Mapping
from typing import Any

from models.clock import timestamp
from models.deliveries.event import Event
from models.deliveries.feed import Place
from webhooks.kinds import EventKind

# orjson fails for half of a surrogate pair, which a text of the network may contain.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# Libraries of many languages end a line at these, too. JSON has no other raw characters that do.
_ESCAPES = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def envelope(kind: EventKind, at: int, data: Mapping[str, Any]) -> str:
    """The event as the JSON text whose UTF-8 bytes are sent. ``data`` is an object of ``resources``."""
    event = {"event": kind, "timestamp": timestamp(at), "data": data}
    return _encode(event)


def event_record(event: Event, history: str) -> str:
    """The object as one line of JSON, with the envelope that webhooks receive."""
    cursor = Place.of(event, history).cursor
    payload = event.payload if event.payload.isascii() else event.payload.translate(_ESCAPES)
    return f'{{"id":"{event.id}","cursor":"{cursor}",{payload[1:]}'
