"""The EventRecord object of the contract. models.deliveries.event writes the envelope in it."""

from models.deliveries.event import PAYLOAD, Event
from models.deliveries.feed import Place

# Libraries of many languages end a line at these, too. JSON has no other raw characters that do.
_ESCAPES = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def event_record(event: Event, history: str) -> str | None:
    """The object as one line of JSON, with the envelope, which a row of a list reads now.

    None if the event was erased or removed meanwhile. After a restore of the database the cursor is refused.
    """
    cursor = Place.of(event, history).cursor
    if (payload := PAYLOAD.of(event)) is None:
        return None
    payload = payload if payload.isascii() else payload.translate(_ESCAPES)
    return f'{{"id":"{event.id}","cursor":"{cursor}",{payload[1:]}'
