"""Finds the contacts of an account by name, username and identifiers, and their conversations."""

from collections.abc import Sequence
from typing import Any

from models.database import fetch, is_among, reading
from models.messages.contact import HAS_USERNAME, IDS, IS_NAMED, IS_PERSON, Contact, kind_of
from models.messages.message import CONTENT, Direction, Message
from models.numbers.number import Number
from models.page import Newest, Page, Start, fetch_newest, fetch_page

# With no more matches than this, the rows are counted in memory, without a second query.
FEW = 500


def called(account_id: str, to: str) -> list[str]:
    """Identifiers of the account's contacts that ``to``, a phone number or user id, reaches."""
    return _with_id(account_id, kind_of(to), to)


def search(
    account_id: str,
    limit: int,
    start: Start,
    *,
    name: str | None = None,
    text: str | None = None,
    **wanted: str | None,
) -> Page[Contact]:
    """The account's contacts that match, newest first.

    ``name`` is any part of the name. ``text`` is a part of the name, a username, or one of IDS.
    """
    query = Contact.select().where(Contact.account == account_id, IS_PERSON)
    for field, value in wanted.items():
        if value is not None and field in IDS:
            query = query.where(Contact.id.in_(_with_id(account_id, field, value)))
        elif value is not None:
            query = query.where(getattr(Contact, field) == value)
    part = text if name is None else name
    others = [] if text is None else _exact(account_id, text)
    if part is None:
        return fetch_page(query, limit, start)
    has_part = Contact.name.contains(part)
    named = Contact.select(Contact.id).where(Contact.account == account_id, IS_NAMED, has_part)
    few = [row.id for row in fetch(named.limit(FEW + 1))]
    if len(few) <= FEW:
        # Read once, then counted and sorted here.
        query = query.where(Contact.id.in_([*few, *others]))
        return fetch_page(query, limit, start)
    query = query.where(has_part | Contact.id.in_(others))
    counted = None if any(wanted.values()) else _count(named, others)
    return fetch_page(query, limit, start, total=counted)


def _with_id(account_id: str, field: str, value: str) -> list[str]:
    """Contacts with this identifier, one of IDS, or with a phone number that the network corrects."""
    numbers = Number.select(Number.id).where(Number.account == account_id)
    of_account = Contact.select(Contact.id, Contact.merged_into).where(
        is_among(Contact.number, numbers), getattr(Contact, field) == value
    )
    return [row.merged_into or row.id for row in fetch(of_account)]


def _exact(account_id: str, text: str) -> list[str]:
    """Contacts whose username or one of IDS is the whole text."""
    found = [id_ for field in IDS for id_ in _with_id(account_id, field, text)]
    with_username = Contact.select(Contact.id).where(
        Contact.account == account_id, HAS_USERNAME, IS_PERSON, Contact.username == text
    )
    return [*found, *(row.id for row in fetch(with_username))]


def _count(named: Any, others: Sequence[str]) -> int:
    """Count the named contacts, by an index that has all names, and the others that are not among them."""
    with reading():
        ids = {row.id for row in named.where(Contact.id.in_(others))}
        return int(named.count()) + len(set(others) - ids)


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
    return fetch_newest(Message, kept, [is_latest], limit, before, columns=CONTENT.columns)


def messages_before(contact: Contact, limit: int, before: str | None) -> Newest[Message]:
    """The messages with a contact in both directions, newest first, from before this message."""
    kept = [Message.contact_id == contact.id]
    return fetch_newest(Message, kept, [], limit, before, columns=CONTENT.columns)
