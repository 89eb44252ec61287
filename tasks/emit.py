"""Emitting events: from a row to the event and its deliveries, in the caller's transaction.

After the transaction is committed the caller calls tasks.deliver.bell.ring().
"""

from collections.abc import Iterable
from dataclasses import replace

from models import clock
from models.delivery import Delivery
from models.event import Event
from models.message import Message
from models.number import Number
from models.webhook import Webhook
from webhooks.envelope import MessageError, MessageResource, NumberResource, envelope
from webhooks.kinds import EventKind


def message_resource(message: Message) -> MessageResource:
    """The contract's Message object of a row."""
    error = None
    if message.error_code is not None:
        error = MessageError(message.error_code, message.error_message or "")
    return MessageResource(
        id=message.id,
        number_id=message.number_id,
        direction=message.direction,
        from_number=message.from_number,
        to_number=message.to_number,
        type=message.type,
        body=message.body,
        created_at=message.created_at,
        wa_message_id=message.wa_message_id,
        status=message.status,
        error=error,
    )


def number_resource(number: Number) -> NumberResource:
    """The contract's Number object of a row."""
    return NumberResource(
        id=number.id,
        phone_number=number.phone_number,
        display_name=number.display_name,
        status=number.status,
        created_at=number.created_at,
        activated_at=number.activated_at,
    )


def emit_message(
    kind: EventKind,
    message: Message,
    at: int | None = None,
    error: tuple[str, str] | None = None,
    webhooks: Iterable[Webhook] | None = None,
) -> None:
    """Emit ``message.*``, at most once for each message and kind.

    ``error`` is shown in place of the message's own, which has none when it was delivered after all.
    ``webhooks`` are those of its account, where the caller has read them in this transaction.
    """
    resource = message_resource(message)
    if error is not None:
        resource = replace(resource, error=MessageError(*error))
    payload = envelope(kind, at or clock.now(), resource)
    if webhooks is None:
        webhooks = Webhook.rows_of(message.account_id)
    event = Event.append(
        message.account_id,
        kind,
        number_id=message.number_id,
        subject_id=message.id,
        payload=payload,
        once=True,
    )
    Delivery.schedule(event, webhooks)


def emit_number(kind: EventKind, number: Number) -> bool:
    """Emit ``number.*``, once for each transition. True when deliveries wait."""
    webhooks = Webhook.rows_of(number.account_id)
    event = Event.append(
        number.account_id,
        kind,
        number_id=number.id,
        subject_id=number.id,
        payload=envelope(kind, clock.now(), number_resource(number)),
        once=False,
    )
    return Delivery.schedule(event, webhooks)
