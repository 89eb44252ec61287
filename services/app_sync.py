"""Stores what the owner of a number does in the network's own app: messages, history and names of contacts.

A new message of the owner emits ``message.echoed``. History emits nothing, opens no window and is not
counted: it can be months of messages at once. Everything runs in the caller's transaction.
"""

from typing import Any

from gateway.settings import get_settings
from models import clock
from models.messages.contact import Contact, Source
from models.messages.message import Direction, Message, MessageStatus, Origin
from models.numbers.number import Number
from models.reports.usage import UsageCount
from networks.items import AppContact, AppMessage, Person
from services import consent, corrections
from services.message_status import emit_message
from webhooks.kinds import EventKind


def record_message(number: Number, item: AppMessage, count: UsageCount) -> None:
    """Store a message of the app, unless it is stored or older than messages are kept."""
    at = item.at or clock.now()
    if item.is_history and at < clock.now() - get_settings().retention_days * clock.DAY_MS:
        return
    if (known := Message.named(number, item.wa_message_id)) is not None:
        _fill(known, item)
        return
    contact = _contact(number, item, at)
    message = Message.write_app(
        number,
        item.other_party,
        item.content,
        at=at,
        contact_id=None if contact is None else contact.id,
        **_values(item),
    )
    if not item.is_history:
        count.store(message)
        emit_message(EventKind.MESSAGE_ECHOED, message, at, contact=contact)
    if item.change is not None:
        corrections.apply(message)


def _values(item: AppMessage) -> dict[str, Any]:
    """The columns of a message that its item has."""
    status = MessageStatus.SENT if item.is_outbound else MessageStatus.RECEIVED
    return {
        "origin": Origin.HISTORY if item.is_history else Origin.APP,
        "direction": Direction.OUTBOUND if item.is_outbound else Direction.INBOUND,
        "type": item.type,
        "status": MessageStatus(item.status) if item.status else status,
        "quoted_wa_id": item.target,
        "wa_message_id": item.wa_message_id,
        "network_at": item.at or None,
        "group_id": item.group,
        "change": item.change,
        "is_placeholder": 1 if item.is_placeholder else None,
    }


def _fill(message_id: str, item: AppMessage) -> None:
    """The content of a placeholder has come."""
    if item.is_history and not item.is_placeholder:
        message = Message.by_id(message_id)
        if message is not None and message.is_placeholder and message.deleted_at is None:
            message.fill(item.type, item.content)


def _contact(number: Number, item: AppMessage, at: int) -> Contact | None:
    if _is_nobody(item.person):
        return None
    contact, is_changed = Contact.record(number, vars(item.person), Source.APP, at)
    if consent.follow(contact) or is_changed:
        consent.emit_contact(contact, number)
    return contact


def record_contact(number: Number, item: AppContact) -> None:
    """Store or remove the name of a person. Only a change of a known contact emits contact.updated."""
    if _is_nobody(item.person):
        return
    at, is_known = item.at or clock.now(), Contact.is_known(number, vars(item.person))
    if item.name is None and not is_known:
        return
    contact, is_changed = Contact.record(number, vars(item.person), Source.APP, at)
    is_changed |= consent.follow(contact)
    if (contact.save_name(item.name, at) and is_known) or is_changed:
        consent.emit_contact(contact, number)


def _is_nobody(person: Person) -> bool:
    return person.phone is None and person.user_id is None
