"""The sample event of a test delivery (specification, POST /webhooks/<webhook_id>/test)."""

from webhooks.envelope import MessageError, MessageResource, NumberResource, envelope
from webhooks.kinds import EventKind

_MESSAGE_STATUS = {
    EventKind.MESSAGE_RECEIVED: "received",
    EventKind.MESSAGE_SENT: "sent",
    EventKind.MESSAGE_DELIVERED: "delivered",
    EventKind.MESSAGE_READ: "read",
    EventKind.MESSAGE_FAILED: "failed",
}
_NUMBER_STATUS = {
    EventKind.NUMBER_ACTIVATED: "ACTIVE",
    EventKind.NUMBER_DISCONNECTED: "DISCONNECTED",
    EventKind.NUMBER_BANNED: "BANNED",
}
_OURS, _THEIRS = "15550000000", "15550000001"


def sample_event(kind: EventKind, now: int) -> str:
    """An event of this kind about things that do not exist (their identifiers end in ``_sample``)."""
    if kind in _NUMBER_STATUS:
        number = NumberResource("num_sample", _OURS, "Sample", _NUMBER_STATUS[kind], now, now)
        return envelope(kind, now, number)
    inbound = kind is EventKind.MESSAGE_RECEIVED
    message = MessageResource(
        id="msg_sample",
        number_id="num_sample",
        direction="INBOUND" if inbound else "OUTBOUND",
        from_number=_THEIRS if inbound else _OURS,
        to_number=_OURS if inbound else _THEIRS,
        type="text",
        body={"body": "This is a test delivery."},
        created_at=now,
        wa_message_id="wamid.sample",
        status=_MESSAGE_STATUS[kind],
        error=MessageError("131026", "Message undeliverable")
        if kind is EventKind.MESSAGE_FAILED
        else None,
    )
    return envelope(kind, now, message)
