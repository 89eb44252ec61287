"""Conversations with contacts, for pages: their newest messages, and when each person last wrote."""

from collections.abc import Sequence
from typing import Any

from peewee import ModelSelect

from models.database import reading
from models.messages.contact import Contact
from models.messages.message import Direction, Message
from models.page import Newest, fetch_newest


def newest_messages(contact: Contact, limit: int) -> list[Message]:
    """The last messages with a contact in both directions, newest first."""
    with reading():
        return list(_newest(contact.id).limit(limit))


def last_inbound(contacts: Sequence[Contact]) -> dict[str, int | None]:
    """When each contact last wrote, in milliseconds, by identifier. None where no such message is kept."""
    inbound = _newest(Contact.id).where(Message.direction == Direction.INBOUND)
    at = inbound.select(Message.created_at).limit(1)
    rows: Any = Contact.select(Contact.id, at).where(Contact.id.in_([row.id for row in contacts]))
    with reading():
        return dict(rows.tuples())


def conversations(
    account_id: str, limit: int, before: str | None, number_id: str | None = None
) -> Newest[Message]:
    """The newest message with each person, newest first, from before this message."""
    later = Message.alias()
    # Not by NOT EXISTS of a later one: PostgreSQL may plan that as a join of the whole table.
    latest = later.select(later.id).where(later.contact_id == Message.contact_id)
    is_latest = Message.id == latest.order_by(later.id.desc()).limit(1)
    kept = [Message.account == account_id if number_id is None else Message.number == number_id]
    return fetch_newest(Message, kept, [is_latest], limit, before)


def messages_before(contact: Contact, limit: int, before: str | None) -> Newest[Message]:
    """The messages with a contact in both directions, newest first, from before this message."""
    return fetch_newest(Message, [Message.contact_id == contact.id], [], limit, before)


def _newest(contact_id: object) -> "ModelSelect[Message]":
    return Message.select().where(Message.contact_id == contact_id).order_by(Message.id.desc())
