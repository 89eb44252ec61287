"""The event kinds: the schema EventKind of the contract."""

from enum import StrEnum


class EventKind(StrEnum):
    """The kind of an event."""

    MESSAGE_RECEIVED = "message.received"
    MESSAGE_SENT = "message.sent"
    MESSAGE_DELIVERED = "message.delivered"
    MESSAGE_READ = "message.read"
    MESSAGE_FAILED = "message.failed"
    NUMBER_ACTIVATED = "number.activated"
    NUMBER_DISCONNECTED = "number.disconnected"
    NUMBER_BANNED = "number.banned"
    TEMPLATE_UPDATED = "template.updated"
    NUMBER_UPDATED = "number.updated"
    CONTACT_UPDATED = "contact.updated"
    MESSAGE_EDITED = "message.edited"
    MESSAGE_DELETED = "message.deleted"
    MESSAGE_ECHOED = "message.echoed"
    CALL_UPDATED = "call.updated"
    BROADCAST_STARTED = "broadcast.started"
    BROADCAST_PAUSED = "broadcast.paused"
    BROADCAST_COMPLETED = "broadcast.completed"
