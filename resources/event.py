"""The EventRecord object of the contract. models.deliveries.event writes the envelope in it."""

from models.deliveries.event import Event
from models.deliveries.feed import Place

# Libraries of many languages end a line at these, too. JSON has no other raw characters that do.
_ESCAPES = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def event_record(event: Event, history: str) -> str:
    """The object as one line of JSON, with the envelope that webhooks receive."""
    cursor = Place.of(event, history).cursor
    payload = event.payload if event.payload.isascii() else event.payload.translate(_ESCAPES)
    return f'{{"id":"{event.id}","cursor":"{cursor}",{payload[1:]}'
