"""What became of an outbound message: the network's acceptance, and its later statuses.

Both may come first: a status callback can overtake the answer of the send itself. So both go through
here, and each event is emitted at most once for each message.
"""

import json

from models import clock
from models.database import writing
from models.idempotency import IdempotencyKey
from models.message import Message, MessageStatus
from tasks import deliver
from tasks.emit import emit_message
from webhooks.kinds import EventKind

EVENT_OF = {
    MessageStatus.SENT: EventKind.MESSAGE_SENT,
    MessageStatus.DELIVERED: EventKind.MESSAGE_DELIVERED,
    MessageStatus.READ: EventKind.MESSAGE_READ,
    MessageStatus.FAILED: EventKind.MESSAGE_FAILED,
}


def _accept(message: Message, wa_message_id: str, at: int) -> bool:
    """The network has the message, however we learnt it."""
    message.advance(MessageStatus.SENT, at=at, wa_message_id=wa_message_id)
    return emit_message(EventKind.MESSAGE_SENT, message, at)


def record_acceptance(message: Message, wa_message_id: str) -> Message:
    """Record the network's answer to a send, inside the caller's transaction. Returns the fresh row."""
    fresh = Message.get_by_id(message.id)
    _accept(fresh, wa_message_id, clock.now())
    return fresh


def record_status(
    message: Message,
    status: MessageStatus,
    wa_message_id: str,
    error: tuple[str, str] | None,
    at: int,
) -> None:
    """Record a status of the network, with its event, in one transaction."""
    with writing():
        fresh = Message.get_by_id(message.id)
        news = fresh.wa_message_id is None
        waiting = news and _accept(fresh, wa_message_id, at)
        if status is not MessageStatus.SENT:
            moved = fresh.advance(status, at=at, error=error)
            # A failure that comes after a delivery is kept in the history, but is no failure.
            if moved or status is not MessageStatus.FAILED:
                waiting = emit_message(EVENT_OF[status], fresh, at) or waiting
        if news:
            # The request may have died before its answer; it gets the one that is known now.
            IdempotencyKey.settle(message, 200, sent_response(fresh))
    if waiting:
        deliver.wake()


def sent_response(message: Message) -> str:
    """The response of POST /messages/send, as JSON text."""
    sent = {"id": message.id, "wa_message_id": message.wa_message_id, "status": message.status}
    return json.dumps(sent, separators=(",", ":"))


def give_up(message: Message) -> None:
    """A message whose outcome stayed unknown for 24 hours has failed (decision 15)."""
    error = ("outcome_unknown", "The messaging network gave no outcome within 24 hours.")
    with writing():
        fresh = Message.get_by_id(message.id)
        now = clock.now()
        waiting = fresh.advance(MessageStatus.FAILED, at=now, error=error) and emit_message(
            EventKind.MESSAGE_FAILED, fresh, now
        )
    if waiting:
        deliver.wake()
