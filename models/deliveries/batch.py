"""Requests: one event each, or several if the webhook wants batches (docs/webhooks.md)."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from models.deliveries.webhook import Webhook

Item = TypeVar("Item")

# The kind in the headers of a batch.
BATCH = "batch"
# A request with so many bytes gets no further event.
MOST_BYTES = 1 << 20


class Content(NamedTuple):
    """The body of a request, and the identifier and kind in its headers."""

    event_id: str
    kind: str
    body: bytes


def split(items: Iterable[Item], size: Callable[[Item], int], most: int) -> list[list[Item]]:
    """Items in parts of at most ``most``. A part with MOST_BYTES gets no further one."""
    parts: list[list[Item]] = []
    left = MOST_BYTES
    for item in items:
        if not parts or len(parts[-1]) == most or left <= 0:
            parts.append([])
            left = MOST_BYTES
        parts[-1].append(item)
        left -= size(item)
    return parts


def content_of(webhook: Webhook, events: Sequence[Content]) -> Content:
    """One request with these events. The same events have the same identifier."""
    if not webhook.batch_events:
        [event] = events
        return event
    ids = ",".join(event.event_id for event in events).encode()
    body = b'{"events":[%b]}' % b",".join(event.body for event in events)
    return Content(f"bat_{hashlib.sha256(ids).hexdigest()[:26]}", BATCH, body)
