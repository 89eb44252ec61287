"""What was written with contacts, for pages: their newest messages, and when each person last wrote."""

from collections.abc import Sequence
from typing import Any

from peewee import ModelSelect

from models.contact import Contact
from models.database import reading
from models.message import Direction, Message


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


def _newest(contact_id: object) -> "ModelSelect[Message]":
    return Message.select().where(Message.contact_id == contact_id).order_by(Message.id.desc())
