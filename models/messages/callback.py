"""Callbacks of the network: stored raw before they are answered, ingested afterwards, or set aside."""

import hashlib
from enum import StrEnum
from typing import Self

from peewee import SQL, BigIntegerField, BlobField, IntegerField, TextField, fn

from models import clock
from models.database import (
    BaseModel,
    Prepared,
    appending,
    database_now,
    fetch,
    is_in,
    reading,
    writing,
)
from models.messages.message import Direction, Message
from models.numbers.number import Number
from models.work import Work

# Seconds between two tries, 12 hours in all: a new version of the gateway fixes most failures.
PAUSES = (2, 10, 60, 300, 900, 3_600, 3 * 3_600, 8 * 3_600)
MAX_TRIES = len(PAUSES) + 1
# Ingesting an item twice does no harm. So a lease need not outlast every batch.
LEASE_MS = 10_000
AT_ONCE = 0
# How many of the newest parked statuses one round of the sweep checks.
WINDOW = 1_000
IS_OPEN = SQL("settled_at IS NULL")


class Callback(Work):
    """The raw body of one callback.

    ``due_at`` is AT_ONCE, the end of a pause, or the end of a lease. ``ingested_at`` is the time when its
    last item was ingested or set aside; then ``due_at`` is null. ``tries`` includes the current try.
    """

    id = TextField(primary_key=True)
    body = BlobField()
    received_at = BigIntegerField()
    ingested_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    error = TextField(null=True)
    due_at = BigIntegerField(null=True)
    lease_token = TextField(null=True)
    order = ("due_at", "id")

    @classmethod
    def store(cls, *bodies: bytes) -> list[Self]:
        """Keep raw bodies, all or none."""
        with appending():
            return [
                cls.create(
                    id=clock.new_id("cb"), body=body, received_at=clock.now(), due_at=AT_ONCE
                )
                for body in bodies
            ]

    @classmethod
    def oldest_waiting(cls) -> int | None:
        """The time of arrival of the oldest callback that is not ingested yet, or None."""
        with reading():
            query = cls.select(fn.MIN(cls.received_at)).where(cls.due_at.is_null(False))
            received_at: int | None = query.scalar()
            return received_at

    @staticmethod
    def finish(*callback_ids: str) -> int:
        """Mark these as done: all their items are ingested or set aside. Inside the caller's transaction.

        Returns how many there were: the erasure of a person may have removed some since their claim.
        """
        return _FINISH.execute(list(callback_ids), clock.now()).count

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

_FINISH = Prepared(
    lambda ids, now: Callback.update(
        ingested_at=now, error=None, due_at=None, lease_token=None
    ).where(is_in(Callback.id, ids))
)


class Reason(StrEnum):
    FOREIGN_NUMBER = "foreign_number"  # for a number that this gateway does not have
    UNKNOWN_MESSAGE = "unknown_message"  # a status of a message that is unknown, or not known yet
    TOO_OLD = "too_old"  # older than the network repeats it: a replay
    FAILED = "failed"  # every try to ingest it failed
    UNREADABLE = "unreadable"  # no item, or no callback


class SetAside(BaseModel):
    """One item. ``body`` is a callback with this item only. ``settled_at`` is null until it is ingested.

    ``fingerprint`` prevents that a repeated item is set aside twice.
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

    class Meta:
        indexes = ((("settled_at", "reason", "id"), False),)

    @classmethod
    def record(cls, reason: Reason, body: bytes, **known: str | None) -> None:
        """Set an item aside, or give it the new reason, inside the caller's transaction.

        ``known`` are ``phone_number_id``, ``wa_message_id`` and ``error``, if there are any.
        """
        cls.insert(
            id=clock.new_id("sa"),
            reason=reason,
            body=body,
            fingerprint=hashlib.sha256(body).hexdigest(),
            created_at=clock.now(),
            **known,
        ).on_conflict(
            conflict_target=[cls.fingerprint],
            conflict_where=IS_OPEN,
            preserve=[cls.reason, cls.phone_number_id, cls.wa_message_id, cls.error],
        ).execute()

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
        is_its = (Message.number == Number.id) & (Message.wa_message_id == cls.wa_message_id)
        found = (
            cls.select(cls)
            .join(Number, on=(Number.phone_number_id == cls.phone_number_id))
            .join(Message, on=is_its)
            .where(cls.id.in_(newest), Message.direction == Direction.OUTBOUND)
            .order_by(cls.id)
        )
        return fetch(found)

    def settle(self) -> None:
        self.amend(settled_at=clock.now(), error=None)


SetAside.add_index(SetAside.fingerprint, unique=True, where=IS_OPEN, name="set_aside_fingerprint")
SetAside.add_index(SetAside.wa_message_id, where=IS_OPEN, name="set_aside_message")
