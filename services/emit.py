"""Emits events: creates an event and its deliveries from a row, in the caller's transaction.

The caller rings services.doorbells.deliveries after the commit.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from models import clock
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages.contact import Contact
from models.messages.message import Message
from models.messages.template import Template
from models.numbers.number import Number
from resources.contact import contact_object
from resources.message import message_object
from resources.number import number_object
from resources.template import template_object
from webhooks.envelope import envelope
from webhooks.kinds import EventKind


def emit_message(
    kind: EventKind,
    message: Message,
    at: int | None = None,
    error: tuple[str, str] | None = None,
    *,
    contact: Contact | None = None,
    webhooks: Iterable[Webhook] | None = None,
) -> None:
    """Emit ``message.*``, at most once for each message and kind.

    ``error`` replaces the message's own, which is missing if the message was delivered after all.
    ``contact`` and ``webhooks`` spare a query if the caller has read the message's contact or the
    account's webhooks already.
    """
    if webhooks is None:
        webhooks = Webhook.rows_of(message.account_id)
    if contact is None and message.contact_id is not None:
        contact = Contact.by_id(message.contact_id)
        if contact is None:
            # The person is erased, and the message is about to be (models.messages.erasure).
            return
    event = Event.append(
        message.account_id,
        kind,
        number_id=message.number_id,
        subject_id=message.id,
        payload=envelope(kind, at or clock.now(), message_object(message, contact, error)),
        once=True,
    )
    Delivery.schedule(event, webhooks)


def emit_contact(contact: Contact, number: Number | None = None) -> None:
    """Emit ``contact.updated``, once for each change. ``number`` spares a query if it is known."""
    _emit(EventKind.CONTACT_UPDATED, contact, contact.number_id, contact_object(contact, number))


def emit_number(kind: EventKind, number: Number) -> None:
    """Emit ``number.*``, once for each transition."""
    _emit(kind, number, number.id, number_object(number))


def _emit(kind: EventKind, row: Number | Contact, number_id: str, resource: dict[str, Any]) -> None:
    webhooks = Webhook.rows_of(row.account_id)
    event = Event.append(
        row.account_id,
        kind,
        number_id=number_id,
        subject_id=row.id,
        payload=envelope(kind, clock.now(), resource),
        once=False,
    )
    Delivery.schedule(event, webhooks)


def emit_template(
    template: Template, number_ids: Sequence[str], at: int | None = None, status: str | None = None
) -> None:
    """Emit ``template.updated``, once for each change.

    The webhooks of ``number_ids``, the active numbers of its business account, receive it.
    """
    kind = EventKind.TEMPLATE_UPDATED
    resource = template_object(template, number_ids, status)
    event = Event.append(
        template.account_id,
        kind,
        number_id=number_ids[0],
        subject_id=template.network_id,
        payload=envelope(kind, at or clock.now(), resource),
        once=False,
    )
    Delivery.schedule(event, Webhook.rows_of(template.account_id), number_ids)
