"""Stores what the owner of a number does in the network's own app: messages, history and names of contacts.

A new message of the owner emits ``message.echoed``. History emits no message, opens no window and is not
counted: it can be months of messages at once. Everything runs in the caller's transaction.
"""

from typing import Any

from gateway.settings import get_settings
from models import clock
from models.messages import app_message, identity, saved_name
from models.messages.contact import Contact, Source
from models.messages.message import Direction, Message, MessageStatus, Origin
from models.numbers.number import Number
from models.reports.usage import UsageCount
from networks.items import AppContact, AppMessage, Person
from services import consent, contacts, corrections
from services.message_status import emit_message
from webhooks.kinds import EventKind


def record_message(number: Number, item: AppMessage, count: UsageCount) -> None:
    """Store a message of the app, unless it is stored or older than messages are kept."""
    at = item.at or clock.now()
    if item.is_history and at < clock.now() - get_settings().retention_days * clock.DAY_MS:
        return
    stored = Message.stored(number, item.wa_message_id)
    known = Message.by_id(stored.id) if stored.id is not None else None
    if known is not None:
        _follow(known, number, item, count)
        return
    contact = _contact(number, item, at)
    message = app_message.write(
        number,
        item.other_party,
        item.content,
        at=at,
        contact_id=None if contact is None else contact.id,
        **_values(item),
    )
    if item.change is not None:
        corrections.apply(message)
    message = corrections.apply_early(message, stored.early)
    if not item.is_history:
        _emit(message, contact, count)


def _follow(message: Message, number: Number, item: AppMessage, count: UsageCount) -> None:
    """The content of a placeholder has come, or the owner's message itself after the history."""
    if not item.is_placeholder:
        app_message.fill(message, item.type, item.content)
    if not item.is_history and message.origin == Origin.HISTORY:
        app_message.leave_history(message, Origin.APP, opens_window=True)
        _emit(message, _contact(number, item, message.created_at), count)


def _emit(message: Message, contact: Contact | None, count: UsageCount) -> None:
    count.store(message)
    emit_message(EventKind.MESSAGE_ECHOED, message, message.created_at, contact=contact)


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


def _contact(number: Number, item: AppMessage, at: int) -> Contact | None:
    if _is_nobody(item.person):
        return None
    contact, is_changed = identity.record(number, vars(item.person), Source.APP, at)
    is_changed |= contacts.follow(contact)
    if not item.is_outbound:
        # Words of the history hold from their own time.
        is_changed |= contacts.apply_words(contact, item, at)
    if is_changed:
        consent.emit_contact(contact, number)
    return contact


def record_contact(number: Number, item: AppContact) -> None:
    """Store or remove the name of a person. Only a change of a known contact emits contact.updated."""
    if _is_nobody(item.person):
        return
    at, person = item.at or clock.now(), vars(item.person)
    is_known = identity.is_known(number, person, at)
    if item.name is None and not is_known:
        saved_name.note_removal(number, person, at)
        return
    contact, is_changed = identity.record(number, person, Source.APP, at)
    is_changed |= contacts.follow(contact)
    if (saved_name.save(contact, item.name, at, person) and is_known) or is_changed:
        consent.emit_contact(contact, number)


def _is_nobody(person: Person) -> bool:
    return person.phone is None and person.user_id is None
