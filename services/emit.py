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
from models.messages.message import Direction, Message
from models.messages.template import Template
from models.numbers.number import Number
from networks.whatsapp.error_codes import explained
from webhooks.envelope import (
    ContactResource,
    MessageContact,
    MessageContext,
    MessageError,
    MessageResource,
    NumberResource,
    Resource,
    TemplateResource,
    envelope,
)
from webhooks.kinds import EventKind

# The customer service window: how long after a person's message free-form messages may be sent (Cloud API).
WINDOW_MS = 24 * 60 * 60_000


def message_resource(
    message: Message, contact: Contact | None = None, error: tuple[str, str] | None = None
) -> MessageResource:
    """The contract's Message object of a row. ``error`` replaces the row's own."""
    shown = error or message.error
    own = _members(MessageResource, message, but=("error", "contact", "context"))
    return MessageResource(
        **own,
        error=MessageError(shown[0], explained(*shown)) if shown else None,
        contact=person(contact) if contact else _unknown(message.other_party),
        context=MessageContext(message.quoted_id, message.quoted_wa_id)
        if message.quoted_wa_id
        else None,
    )


def person(contact: Contact) -> MessageContact:
    """The person of a contact."""
    return MessageContact(**_members(MessageContact, contact))


def _unknown(identifier: str) -> MessageContact:
    """The person of a message from before contacts were stored."""
    is_phone = identifier.isdecimal()
    return MessageContact(identifier if is_phone else None, None if is_phone else identifier)


def number_resource(number: Number) -> NumberResource:
    return NumberResource(**_members(NumberResource, number))


def template_resource(
    template: Template, number_ids: Sequence[str], status: str | None = None
) -> TemplateResource:
    """The contract's Template object of a row. ``status`` replaces the row's own."""
    return TemplateResource(
        id=template.network_id,
        number_ids=list(number_ids),
        name=template.name,
        language=template.language,
        status=status or template.shown_status,
        category=template.category,
        components=template.components,
        parameter_format=template.parameter_format,
        quality_score=template.quality_score,
        rejected_reason=template.rejected_reason,
        updated_at=template.updated_at,
    )


def contact_resource(contact: Contact) -> ContactResource:
    """The contract's Contact object of a row, with the times of the newest message in each direction."""
    names = ("id", "number_id", "opted_out_at", "opted_out_because", "note", "created_at")
    inbound, outbound = (
        contact.last_message_at(way) for way in (Direction.INBOUND, Direction.OUTBOUND)
    )
    return ContactResource(
        **{name: getattr(contact, name) for name in names},
        person=person(contact),
        window_open_until=window_open_until(inbound),
        last_inbound_at=inbound,
        last_outbound_at=outbound,
    )


def window_open_until(last_inbound: int | None) -> int | None:
    """When the customer service window closes, from the person's last message. None if it is closed."""
    closes_at = None if last_inbound is None else last_inbound + WINDOW_MS
    return closes_at if closes_at and closes_at > clock.now() else None


def _members(resource: type[Any], row: Any, *, but: Iterable[str] = ()) -> dict[str, Any]:
    return {name: getattr(row, name) for name in resource.__match_args__ if name not in but}


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
        payload=envelope(kind, at or clock.now(), message_resource(message, contact, error)),
        once=True,
    )
    Delivery.schedule(event, webhooks)


def emit_contact(contact: Contact) -> None:
    """Emit ``contact.updated``, once for each change."""
    _emit(EventKind.CONTACT_UPDATED, contact, contact.number_id, contact_resource(contact))


def emit_number(kind: EventKind, number: Number) -> None:
    """Emit ``number.*``, once for each transition."""
    _emit(kind, number, number.id, number_resource(number))


def _emit(kind: EventKind, row: Number | Contact, number_id: str, resource: Resource) -> None:
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
    resource = template_resource(template, number_ids, status)
    event = Event.append(
        template.account_id,
        kind,
        number_id=number_ids[0],
        subject_id=template.network_id,
        payload=envelope(kind, at or clock.now(), resource),
        once=False,
    )
    Delivery.schedule(event, Webhook.rows_of(template.account_id), number_ids)
