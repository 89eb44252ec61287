"""Erasure of a person: removing a contact with its messages and the events about them.

One transaction removes the contact and its newest messages, and writes an erasure row. If the process is
killed, the worker continues from that row (services.erasing). The row is deleted after the last batch.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.accounts.account import Account, Owned
from models.database import database_now, exclusively, reading
from models.deliveries.delivery import Delivery
from models.deliveries.event import ErasedEvent, Event
from models.messages import search
from models.messages.contact import IDS, Contact, ContactChange
from models.messages.idempotency import IdempotencyKey
from models.messages.message import IS_PERSONS, IS_UNSETTLED, Message
from models.work import Work

# Messages removed in one transaction. Each may have events, deliveries, attempts and a block of the search
# index, and other writers wait meanwhile.
BATCH_SIZE = 20
# The lease in milliseconds, renewed with each batch. After a kill the next worker waits for its end.
LEASE_MS = 30_000


class Erasure(Owned, Work):
    """An unfinished erasure. ``due_at`` is the end of the lease, in milliseconds since the epoch.

    ``contact_ids`` are the contact and those that were merged into it. ``known_ids`` are the phone numbers
    and user ids of the person.
    """

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    number_id = TextField()
    contact_id = TextField()
    contact_ids_json = TextField()
    known_ids_json = TextField()
    created_at = BigIntegerField()
    due_at = BigIntegerField()

    @property
    def contact_ids(self) -> list[str]:
        return list(json.loads(self.contact_ids_json))

    @property
    def known_ids(self) -> list[str]:
        return list(json.loads(self.known_ids_json))

    @classmethod
    @exclusively
    def begin(cls, contact: Contact) -> tuple[Self, Counter[str]]:
        """Remove a contact with its newest messages. Returns also the number of removed rows by kind.

        The caller has the lease. Messages without an outcome are removed in the same transaction: a send
        that ends later finds no message and emits no event.
        """
        # It may have been merged into another one since it was read.
        contact = Contact.find(contact.id) or contact
        contact_ids = [contact.id, *_merged_into(contact)]
        erasure = cls.create(
            id=clock.new_id("ers"),
            account=contact.account_id,
            number_id=contact.number_id,
            contact_id=contact.id,
            contact_ids_json=json.dumps(contact_ids),
            known_ids_json=json.dumps(_identifiers(contact.number_id, contact_ids)),
            created_at=clock.now(),
            due_at=database_now() + LEASE_MS,
        )
        Contact.delete().where(Contact.id.in_(contact_ids)).execute()
        ContactChange.delete().where(ContactChange.contact_id.in_(contact_ids)).execute()
        removed = _remove_events(contact_ids)
        without_outcome = _messages_with(contact_ids).where(IS_UNSETTLED)
        removed += _remove(contact.account_id, without_outcome)
        return erasure, removed + erasure.remove_messages()

    @classmethod
    def of(cls, contact_id: str) -> Self | None:
        """The unfinished erasure of a contact, or of the one that it was merged into."""
        with reading():
            return next((row for row in cls.select() if contact_id in row.contact_ids), None)

    @exclusively
    def finish(self) -> None:
        """Delete the row: nothing is left to remove."""
        Erasure.delete().where(Erasure.id == self.id).execute()

    @exclusively
    def remove_messages(self) -> Counter[str]:
        """Remove the newest BATCH_SIZE messages and their events. Returns the number of rows by kind."""
        newest_first = _messages_with(self.contact_ids).order_by(Message.id.desc())
        return _remove(self.account_id, newest_first.limit(BATCH_SIZE))


def _merged_into(contact: Contact) -> list[str]:
    merged = Contact.select(Contact.id).where(Contact.merged_into == contact.id)
    return [row.id for row in merged]


def _identifiers(number_id: str, contact_ids: Sequence[str]) -> list[str]:
    """The present and past identifiers of these contacts, except those that another contact has now."""
    rows = [*Contact.select().where(Contact.id.in_(contact_ids))]
    found = {getattr(row, name) for row in rows for name in IDS}
    changes = ContactChange.select().where(
        ContactChange.contact_id.in_(contact_ids), ContactChange.field.in_(IDS)
    )
    found |= {value for change in changes for value in (change.old, change.new)}
    others = Contact.select().where(Contact.number == number_id, Contact.id.not_in(contact_ids))
    theirs = {
        getattr(row, name)
        for name in IDS
        for row in others.where(getattr(Contact, name).in_(found))
    }
    return sorted(found - theirs - {None})


def _remove_events(subject_ids: Sequence[str]) -> Counter[str]:
    """Remove the events about these rows. Their attempts go with the deliveries."""
    found = list(
        Event.select(Event.id, Event.account, Event.position).where(
            Event.subject_id.in_(subject_ids)
        )
    )
    events = [row.id for row in found]
    ErasedEvent.note(found)
    return Counter(
        deliveries=Delivery.delete().where(Delivery.event.in_(events)).execute(),
        events=Event.delete().where(Event.id.in_(events)).execute(),
    )


def _messages_with(contact_ids: Sequence[str]) -> Any:
    return Message.select(Message.id).where(IS_PERSONS, Message.contact_id.in_(contact_ids))


def _remove(account_id: str, messages: Any) -> Counter[str]:
    """Remove the messages of a query, the events about them, and their words from the index."""
    ids = [row.id for row in messages]
    removed = _remove_events(ids)
    IdempotencyKey.erase(ids)
    # The history goes with its message.
    removed["messages"] = Message.delete().where(Message.id.in_(ids)).execute()
    search.forget(account_id, ids)
    return +removed
