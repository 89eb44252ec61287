"""The EventRecord object of the contract. models.deliveries.event writes the envelope in it."""

import json

from models.accounts.scope import present_numbers, visible
from models.deliveries.event import PAYLOAD, Event, encode
from models.deliveries.feed import Place
from webhooks.kinds import EventKind

# Libraries of many languages end a line at these, too. JSON has no other raw characters that do.
_ESCAPES = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def event_record(event: Event, history: str) -> str | None:
    """The object as one line of JSON, with the envelope, which a row of a list reads now.

    None if the event was erased or removed meanwhile. After a restore of the database the cursor is refused.
    """
    cursor = Place.of(event, history).cursor
    if (payload := PAYLOAD.of(event)) is None:
        return None
    if event.kind == EventKind.TEMPLATE_UPDATED and present_numbers.get() is not None:
        payload = _with_visible_numbers(payload)
    payload = payload if payload.isascii() else payload.translate(_ESCAPES)
    return f'{{"id":"{event.id}","cursor":"{cursor}",{payload[1:]}'


def _with_visible_numbers(payload: str) -> str:
    """The envelope of an event about a template, which several numbers can send."""
    envelope = json.loads(payload)
    data = envelope["data"]
    data["numberIds"] = visible(data["numberIds"])
    return encode(envelope)
