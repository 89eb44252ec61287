"""Items of callbacks that could not be taken in: kept with why, until they can be or are too old."""

import hashlib
from enum import StrEnum
from typing import Any, Self

from peewee import SQL, BigIntegerField, BlobField, TextField, fn

from models import clock
from models.clock import new_id
from models.database import BaseModel, reading
from models.message import Direction, Message
from models.number import Number

# The newest parked statuses that one round of the sweep looks at.
WINDOW = 1_000
IS_OPEN = SQL("settled_at IS NULL")


class Reason(StrEnum):
    FOREIGN_NUMBER = "foreign_number"  # for a number that is not ours
    UNKNOWN_MESSAGE = "unknown_message"  # a status of a message that we do not know, or not yet
    FAILED = "failed"  # every try to take it in failed
    UNREADABLE = "unreadable"  # no item, or no callback


class SetAside(BaseModel):
    """One item. ``body`` is a callback's body with this item only; ``settled_at`` is null until it is in.

    ``fingerprint`` keeps an item that comes again from being set aside twice.
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
    def keep(cls, reason: Reason, body: bytes, **known: str | None) -> None:
        """Set an item aside inside the caller's transaction; one that is there gets the new reason.

        ``known`` are ``phone_number_id``, ``wa_message_id`` and ``error``, if there are any.
        """
        cls.insert(
            id=new_id("sa"),
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
    def find(cls, item_id: str) -> Self | None:
        """The item if it is still aside, or None."""
        with reading():
            return cls.get_or_none(cls.id == item_id, cls.settled_at.is_null())

    @classmethod
    def waiting(cls, reason: str | None = None, *, after: str = "", limit: int = 100) -> list[Self]:
        """Items still aside, oldest first, from behind the identifier ``after``."""
        with reading():
            query = cls.select().where(cls.settled_at.is_null(), cls.id > after)
            if reason is not None:
                query = query.where(cls.reason == reason)
            return list(query.order_by(cls.id).limit(limit))

    @classmethod
    def counts(cls) -> dict[str, int]:
        """How many items are aside, by every reason. Reads one index only."""
        with reading():
            query = cls.select(cls.reason, fn.COUNT(SQL("*"))).where(cls.settled_at.is_null())
            rows: Any = query.group_by(cls.reason).tuples()
            return dict.fromkeys(map(str, Reason), 0) | dict(rows)

    @classmethod
    def matchable(cls) -> list["SetAside"]:
        """Parked statuses, of the newest, whose message is known by now."""
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
        with reading():
            return list(found)

    def settle(self) -> None:
        self.amend(settled_at=clock.now(), error=None)


SetAside.add_index(SetAside.fingerprint, unique=True, where=IS_OPEN, name="set_aside_fingerprint")
SetAside.add_index(SetAside.wa_message_id, where=IS_OPEN, name="set_aside_message")
