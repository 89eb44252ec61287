"""Erasure of a person: removing a contact with its messages and the events about them.

One transaction removes the contact and its newest messages, and writes an erasure row. Workers continue from
that row, in slices (services.erasing). It is deleted when nothing of the person is left.
"""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Self

from peewee import BigIntegerField, CompositeKey, ForeignKeyField, TextField

from models import clock, doorbells
from models.accounts.account import Account, Owned
from models.accounts.audit import Audit
from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipient import BroadcastRecipient
from models.broadcasts.recipients_file import RecipientsFile
from models.database import (
    BaseModel,
    Prepared,
    database,
    database_now,
    database_time,
    exclusively,
    fetch,
    is_among,
    is_in,
    reading,
    writing,
)
from models.decoded import Decoded
from models.deliveries.delivery import Delivery
from models.deliveries.event import ErasedEvent, Event
from models.messages import search
from models.messages.contact import IDS, Contact, ContactChange
from models.messages.idempotency import IdempotencyKey
from models.messages.message import IS_PERSONS, IS_UNSETTLED, Message
from models.messages.opt_out_answer import OptOutAnswer
from models.messages.suppression import Suppression
from models.work import Work

# Messages removed in one transaction. Each may have events, deliveries, attempts and a block of the search
# index, and other writers wait meanwhile.
BATCH_SIZE = 20
# The lease of a slice in milliseconds. After a kill the next worker waits for its end.
LEASE_MS = 30_000
# No send takes longer than this, in milliseconds.
LONGEST_SEND_MS = 5 * 60_000
# The last step: nothing is left but copies of removed rows in the database's files.
CLEANING = "cleaning"
# The most erasures that are cleaned together, and the most workers that may claim at once.
MOST_CLEANED, MOST_WORKERS = 500, 8


class Erasure(Owned, Work):
    """An unfinished erasure.

    ``contact_ids`` are the contact and those that were merged into it. ``known_ids`` are the phone numbers
    and user ids of the person. ``step`` and ``place`` say how far it is: see services.erasing.
    """

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    number_id = TextField()
    contact_id = TextField()
    contact_ids_json = TextField()
    contact_ids = Decoded(json.loads, "contact_ids_json")
    known_ids_json = TextField()
    known_ids = Decoded(json.loads, "known_ids_json")
    created_at = BigIntegerField()
    due_at = BigIntegerField()
    step = TextField(null=True)
    place = TextField(null=True)

    class Meta:
        # For claim_after.
        indexes = ((("account", "id"), False),)

    @classmethod
    @exclusively
    def begin(cls, contact: Contact, lease_ms: int = 0) -> tuple[Self, Counter[str]]:
        """Remove a contact with its newest messages. Returns also the number of removed rows by kind.

        With ``lease_ms`` the caller has the lease. Messages of running sends are removed in the same
        transaction: a send that ends later finds no message and emits no event.
        """
        # It may have been merged into another one since it was read.
        contact = Contact.find(contact.id) or contact
        merged = Contact.select(Contact.id).where(Contact.merged_into == contact.id)
        contact_ids = [contact.id, *(row.id for row in merged)]
        known_ids = _identifiers(contact.number_id, contact_ids)
        erasure = cls.create(
            id=clock.new_id("ers"),
            account=contact.account_id,
            number_id=contact.number_id,
            contact_id=contact.id,
            contact_ids_json=json.dumps(contact_ids),
            known_ids_json=json.dumps(known_ids),
            created_at=clock.now(),
            due_at=database_now() + lease_ms,
        )
        for identifier in known_ids:
            ErasedPerson.create(identifier=identifier, erasure=erasure.id)
        if not lease_ms:
            database.after_commit(doorbells.erasures.ring)
        Audit.record(contact.account_id, "contact.erased", contact.id)
        Contact.delete().where(Contact.id.in_(contact_ids)).execute()
        ContactChange.delete().where(ContactChange.contact_id.in_(contact_ids)).execute()
        OptOutAnswer.delete().where(OptOutAnswer.contact_id.in_(contact_ids)).execute()
        for lists in _lists_of(contact):
            BroadcastRecipient.erase(known_ids, lists)
        _forget_opt_outs(contact.account_id, known_ids)
        removed = _remove_events(contact_ids)
        recent = clock.id_bound("msg", clock.now() - LONGEST_SEND_MS)
        running = _messages_with(contact_ids).where(IS_UNSETTLED, Message.id >= recent)
        removed += _remove(contact.account_id, running)
        return erasure, removed + erasure.remove_messages()

    @classmethod
    def of(cls, contact_id: str) -> Self | None:
        """The unfinished erasure of a contact, or of the one that it was merged into."""
        with reading():
            return next((row for row in cls.select() if contact_id in row.contact_ids), None)

    @classmethod
    def among(cls, people: Collection[str]) -> list[Self]:
        """The unfinished erasures of these people, by identifier, inside the caller's transaction."""
        return list(_among.execute(list(people)))

    @classmethod
    def is_any(cls) -> bool:
        """Whether there is an unfinished erasure, inside the caller's transaction."""
        return any(_any.execute())

    @classmethod
    def claim_after(cls, account_id: str) -> Self | None:
        """Claim the oldest due erasure of the next account that has one.

        Accounts are sorted by identifier. A caller that continues with the next account gives each its turn.
        """
        due = cls.select().where(cls.account > account_id, cls.is_due())
        # Other workers may be faster.
        first = fetch(due.order_by(cls.account, cls.id).limit(MOST_WORKERS))
        return next(filter(None, (row.claim_this() for row in first)), None)

    @classmethod
    def is_due(cls) -> Any:
        """The condition that a worker may remove rows for it."""
        return (cls.due_at <= database_time(clock.now())) & (
            cls.step.is_null() | (cls.step != CLEANING)
        )

    def claim_this(self) -> Self | None:
        """Claim this erasure, None if it is not due."""
        cls = type(self)
        claim = cls.claiming(None, clock.now(), LEASE_MS).where(cls.id == self.id, cls.is_due())
        with writing():
            return next(iter(list(claim.returning(cls).execute())), None)

    def release(self, due_at: int) -> bool:
        """Store ``step`` and ``place``. Returns False if the lease ended and another worker claimed it."""
        if not self.complete(due_at=due_at, step=self.step, place=self.place):
            return False
        self.due_at = due_at
        return True

    @classmethod
    def cleaning(cls) -> list[Self]:
        """The erasures of people of whom no other row is left."""
        return fetch(cls.select().where(cls.step == CLEANING).limit(MOST_CLEANED))

    @classmethod
    @exclusively
    def forget(cls, ids: Sequence[str]) -> None:
        """Remove the identifiers of their people from these."""
        ErasedPerson.delete().where(ErasedPerson.erasure.in_(ids)).execute()
        cls.update(known_ids_json="[]").where(cls.id.in_(ids)).execute()

    @classmethod
    @exclusively
    def finish(cls, ids: Sequence[str]) -> None:
        """Delete these: nothing is left to remove."""
        cls.delete().where(cls.id.in_(ids)).execute()

    @exclusively
    def remove_messages(self) -> Counter[str]:
        """Remove the newest BATCH_SIZE messages and their events. Returns the number of rows by kind."""
        newest_first = _messages_with(self.contact_ids).order_by(Message.id.desc())
        return _remove(self.account_id, newest_first.limit(BATCH_SIZE))


class ErasedPerson(BaseModel):
    """An identifier of a person whose erasure is unfinished."""

    identifier = TextField()
    erasure = ForeignKeyField(Erasure, lazy_load=False, on_delete="CASCADE")

    class Meta:
        primary_key = CompositeKey("identifier", "erasure")


@partial(Prepared, model=Erasure)
def _among(people: Any) -> Any:
    theirs = ErasedPerson.select(ErasedPerson.erasure).where(is_in(ErasedPerson.identifier, people))
    return Erasure.select().where(is_among(Erasure.id, theirs))


# By the key, so that no plan looks at every row.
_any = Prepared(
    lambda: Erasure.select(Erasure.id).where(Erasure.id > "").order_by(Erasure.id).limit(1)
)


def _identifiers(number_id: str, contact_ids: Sequence[str]) -> list[str]:
    """The present and past identifiers of these contacts, except those that another contact has now."""
    rows = [*Contact.select().where(Contact.id.in_(contact_ids))]
    found = {row.gave_up or getattr(row, name) for row in rows for name in IDS}
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


def _forget_opt_outs(account_id: str, people: Sequence[str]) -> None:
    """Keep only the digests of their opt-outs, unless a contact of another number has the identifier."""
    others = Contact.of_people(account_id, people)
    left = set(people).difference(*(other.identifiers for other in others))
    Suppression.forget(Account.get_by_id(account_id), left)


def _lists_of(contact: Contact) -> tuple[Any, Any]:
    """The lists of recipients that may have the person: of the number's broadcasts, and of unused files."""
    theirs = Broadcast.select(Broadcast.list_id).where(Broadcast.number == contact.number_id)
    is_unused = RecipientsFile.broadcast_id.is_null()
    uploaded = RecipientsFile.select(RecipientsFile.id)
    return theirs, uploaded.where(RecipientsFile.account == contact.account_id, is_unused)


def _remove_events(subject_ids: Sequence[str]) -> Counter[str]:
    """Remove the events about these rows. Their attempts go with the deliveries."""
    columns = Event.id, Event.account, Event.position
    found = list(Event.select(*columns).where(Event.subject_id.in_(subject_ids)))
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
