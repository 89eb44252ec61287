"""Conversations with contacts, for pages: their newest messages, and when each person last wrote."""

from collections.abc import Sequence

from models.database import fetch
from models.messages.contact import Contact
from models.messages.message import Direction, Message
from models.page import Newest, fetch_newest


def last_inbound(contacts: Sequence[Contact]) -> dict[str, int | None]:
    """When each contact last wrote, in milliseconds, by identifier. None where no such message is kept."""
    inbound = Message.select(Message.created_at).where(
        Message.contact_id == Contact.id, Message.direction == Direction.INBOUND
    )
    at = inbound.order_by(Message.id.desc()).limit(1)
    query = Contact.select(Contact.id, at).where(Contact.id.in_([row.id for row in contacts]))
    return dict(fetch(query.tuples()))


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
