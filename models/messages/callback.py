"""Callbacks of the network that are not ingested when they arrive: stored raw, removed when they are.

Items that cannot be ingested are set aside.
"""

import hashlib
from collections.abc import Collection
from enum import StrEnum
from typing import Any, Self

from peewee import (
    SQL,
    BigIntegerField,
    BlobField,
    CompositeKey,
    ForeignKeyField,
    IntegerField,
    TextField,
    fn,
)

from models import clock, doorbells
from models.database import (
    BaseModel,
    Prepared,
    appending,
    database,
    database_now,
    exclusively,
    fetch,
    is_in,
    reading,
    writing,
)
from models.messages.message import Direction, Message
from models.numbers.number import Number, NumberAlias
from models.work import Work

# Seconds between two tries, 12 hours in all: a new version of the gateway fixes most failures.
PAUSES = (2, 10, 60, 300, 900, 3_600, 3 * 3_600, 8 * 3_600)
MAX_TRIES = len(PAUSES) + 1
# Ingesting an item twice does no harm. So a lease need not outlast every batch.
LEASE_MS = 10_000
AT_ONCE = 0
# How many of the newest parked statuses one round of the sweep checks.
WINDOW = 1_000
# Characters. Longer words, such as those of a file in the text, identify nobody, and no index takes them.
MOST_IDENTIFIER = 256
IS_OPEN = SQL("settled_at IS NULL")
IS_UNINDEXED = SQL("indexed_at IS NULL")


class Callback(Work):
    """The raw body of one callback, until its last item is ingested or set aside.

    ``due_at`` is AT_ONCE, the end of a pause, or the end of a lease. ``tries`` includes the current try.
    Release 1.0.0 kept ingested callbacks, with an ``ingested_at`` and without a ``due_at``.
    """

    id = TextField(primary_key=True)
    body = BlobField()
    received_at = BigIntegerField()
    ingested_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    error = TextField(null=True)
    due_at = BigIntegerField(null=True)
    lease_token = TextField(null=True)
    order, weighed = ("due_at", "id"), "body"

    @classmethod
    def store(cls, *bodies: bytes, received_at: int | None = None) -> list[Self]:
        """Keep raw bodies, all or none. They were received now, or at another time."""
        made = [cls.arrived(body, received_at) for body in bodies]
        cls.keep(*made)
        return made

    @classmethod
    def arrived(cls, body: bytes, at: int | None = None) -> Self:
        """A callback that is not stored, from now or another time."""
        at = clock.now() if at is None else at
        return cls(id=clock.new_id("cb"), body=body, received_at=at, due_at=AT_ONCE)

    @classmethod
    def keep(cls, *callbacks: Self) -> None:
        """Store callbacks, all or none."""
        with appending():
            for each in callbacks:
                cls.create(**each.__data__)
            database.after_commit(doorbells.callbacks.ring)

    @classmethod
    def oldest_waiting(cls) -> int | None:
        """The time of arrival of the oldest callback that is not ingested yet, or None."""
        with reading():
            query = cls.select(fn.MIN(cls.received_at)).where(cls.due_at.is_null(False))
            received_at: int | None = query.scalar()
            return received_at

    @staticmethod
    def finish(*callback_ids: str) -> int:
        """Remove these: all their items are ingested or set aside. Inside the caller's transaction.

        Returns how many there were: another worker or an erasure may have removed some since their claim.
        """
        return _FINISH.execute(list(callback_ids)).count

    def postpone(self, error: str) -> None:
        """Try again after a pause: some item was not ingested."""
        self.back_off(PAUSES[self.tries - 1] * 1_000, error=error)

    @classmethod
    def recall_dead(cls) -> int:
        """Make callbacks of dead workers due at once, so that newer ones do not go first. Returns how many.

        These are leases that have ended, and leases too far in the future because the clock was set back.
        They keep their token, so that each is claimed alone.
        """
        now = database_now()
        is_dead = (cls.due_at <= now) | (cls.due_at > now + LEASE_MS)
        # The second condition excludes new callbacks by the index.
        left = cls.lease_token.is_null(False), cls.due_at > AT_ONCE, is_dead
        with reading():
            if not cls.select().where(*left).exists():
                return 0
        with writing():
            return int(cls.update(due_at=AT_ONCE).where(*left).execute())


Callback.add_index(
    Callback.ingested_at, where=SQL("ingested_at IS NOT NULL"), name="callback_ingested"
)
Callback.add_index(
    Callback.due_at, Callback.id, where=SQL("due_at IS NOT NULL"), name="callback_due"
)

_FINISH = Prepared(lambda ids: Callback.delete().where(is_in(Callback.id, ids)))


class Reason(StrEnum):
    FOREIGN_NUMBER = "foreign_number"  # for a number that this gateway does not have
    UNKNOWN_MESSAGE = "unknown_message"  # a status of a message that is unknown, or not known yet
    TOO_OLD = "too_old"  # older than the network repeats it: a replay
    FAILED = "failed"  # every try to ingest it failed
    UNREADABLE = "unreadable"  # no item, or no callback


class SetAside(BaseModel):
    """One item. ``body`` is a callback with this item only. ``settled_at`` is null until it is ingested.

    ``fingerprint`` prevents that a repeated item is set aside twice. ``indexed_at`` is the time when its rows
    of Mention were written. Release 1.0.0 writes none, and the sweep adds them (services.mentions).
    """

    id = TextField(primary_key=True)
    reason = TextField()
    phone_number_id = TextField(null=True)
    wa_message_id = TextField(null=True)
    body = BlobField()
    fingerprint = TextField()
    error = TextField(null=True)
    created_at = BigIntegerField()
    settled_at = BigIntegerField(null=True)
    indexed_at = BigIntegerField(null=True)

    class Meta:
        indexes = ((("settled_at", "reason", "id"), False),)

    @classmethod
    def record(
        cls, reason: Reason, body: bytes, people: Collection[str], **known: str | int | None
    ) -> None:
        """Set an item aside, or give it the new reason, inside the caller's transaction.

        ``people`` are the identifiers of the people whom it mentions. ``known`` are ``phone_number_id``,
        ``wa_message_id``, ``error`` and an earlier ``created_at``, if there are any.
        """
        aside_id = clock.new_id("sa")
        values = {
            "id": aside_id,
            "reason": reason,
            "body": body,
            "fingerprint": hashlib.sha256(body).hexdigest(),
            "created_at": clock.now(),
            "indexed_at": clock.now(),
        }
        insert = cls.insert(values | known).on_conflict(
            conflict_target=[cls.fingerprint],
            conflict_where=IS_OPEN,
            preserve=[cls.reason, cls.phone_number_id, cls.wa_message_id, cls.error],
        )
        [(stored_id,)] = list(insert.returning(cls.id).tuples().execute())
        if stored_id == aside_id:
            Mention.note(aside_id, people)

    @exclusively
    def note_people(self, people: Collection[str]) -> None:
        """Note the people whom it mentions, unless it was removed or another worker was faster."""
        unindexed = SetAside.update(indexed_at=clock.now()).where(SetAside.id == self.id)
        if unindexed.where(IS_UNINDEXED).execute():
            Mention.note(self.id, people)

    @classmethod
    def mentioning(cls, people: Collection[str]) -> Any:
        """The query for the items that mention one of these people, settled or not."""
        return cls.select().where(
            cls.id.in_(Mention.select(Mention.aside).where(Mention.identifier.in_(list(people))))
        )

    @classmethod
    def unindexed(cls) -> Any:
        """The query for the items that a worker of 1.0.0 set aside."""
        return cls.select().where(IS_UNINDEXED)

    @classmethod
    def waiting(cls, reason: str | None = None, *, after: str = "", limit: int = 100) -> list[Self]:
        """Items still aside, oldest first, from behind the identifier ``after``."""
        query = cls.select().where(cls.settled_at.is_null(), cls.id > after)
        if reason is not None:
            query = query.where(cls.reason == reason)
        return fetch(query.order_by(cls.id).limit(limit))

    @classmethod
    def counts(cls) -> dict[str, int]:
        """The number of items aside by reason. Reads one index only."""
        query = cls.select(cls.reason, fn.COUNT(SQL("*"))).where(cls.settled_at.is_null())
        counts = fetch(query.group_by(cls.reason).tuples())
        return dict.fromkeys(map(str, Reason), 0) | dict(counts)

    @classmethod
    def matchable(cls) -> list["SetAside"]:
        """The newest parked statuses whose message is known now."""
        newest = (
            cls.select(cls.id)
            .where(cls.settled_at.is_null(), cls.reason == Reason.UNKNOWN_MESSAGE)
            .order_by(cls.id.desc())
            .limit(WINDOW)
        )
        former = NumberAlias.select(NumberAlias.number)
        is_its = (Number.phone_number_id == cls.phone_number_id) | Number.id.in_(
            former.where(NumberAlias.former == cls.phone_number_id)
        )
        found = (
            cls.select(cls)
            .join(Message, on=(Message.wa_message_id == cls.wa_message_id))
            .join(Number, on=((Number.id == Message.number) & is_its))
            .where(cls.id.in_(newest), Message.direction == Direction.OUTBOUND)
            .order_by(cls.id)
        )
        return fetch(found)

    def settle(self) -> None:
        self.amend(settled_at=clock.now(), error=None)


SetAside.add_index(SetAside.fingerprint, unique=True, where=IS_OPEN, name="set_aside_fingerprint")
SetAside.add_index(SetAside.wa_message_id, where=IS_OPEN, name="set_aside_message")
SetAside.add_index(SetAside.id, where=IS_UNINDEXED, name="set_aside_unindexed")


class Mention(BaseModel):
    """An identifier of a person in an item set aside. It is removed with the item."""

    identifier = TextField()
    aside = ForeignKeyField(SetAside, lazy_load=False, on_delete="CASCADE")

    class Meta:
        primary_key = CompositeKey("identifier", "aside")

    @classmethod
    def note(cls, aside_id: str, people: Collection[str]) -> None:
        """Store the identifiers of these people, inside the caller's transaction."""
        rows = [(each, aside_id) for each in people if len(each) <= MOST_IDENTIFIER]
        if rows:
            fields = [cls.identifier, cls.aside]
            cls.insert_many(rows, fields=fields).on_conflict_ignore().execute()
