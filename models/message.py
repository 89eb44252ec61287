"""Messages, in and out, their status and its history.

A status never moves backwards: STATUS_RANK orders them, and every step that arrived is kept.
"""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Any, Self

from peewee import EXCLUDED, SQL, BigAutoField, BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.account import Account
from models.clock import new_id
from models.database import BaseModel, Prepared, is_in, reading
from models.number import Number

# The most that one look for unsettled messages finds.
MOST_UNSETTLED = 10_000


class Direction(StrEnum):
    INBOUND = "INBOUND"
    OUTBOUND = "OUTBOUND"


class MessageStatus(StrEnum):
    PENDING = "pending"
    UNKNOWN = "unknown"
    SENT = "sent"
    FAILED = "failed"
    DELIVERED = "delivered"
    READ = "read"
    RECEIVED = "received"


# In the order in which a message gets there. One that failed may still turn out delivered.
STATUS_RANK: dict[str, int] = {status: rank for rank, status in enumerate(MessageStatus)}
UNSETTLED = (MessageStatus.PENDING, MessageStatus.UNKNOWN)
UNARRIVED = (*UNSETTLED, MessageStatus.SENT, MessageStatus.FAILED)
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_UNSETTLED = SQL("status IN ('pending', 'unknown')")
IS_UNARRIVED = SQL("status IN ('pending', 'unknown', 'sent', 'failed')")
IS_INBOUND = SQL("direction = 'INBOUND'")
FREQUENT_TYPES = ("text", "template")
IS_RARE_TYPE = SQL("type NOT IN ('text', 'template')")
# An index of an expression serves the same expression alone.
OTHER_PARTY = SQL("(CASE WHEN direction = 'INBOUND' THEN from_number ELSE to_number END)")


class Message(BaseModel):
    """One message. ``body_json`` holds the content as JSON text."""

    account_id: str
    number_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    number = ForeignKeyField(Number, lazy_load=False, index=False)
    direction = TextField()
    from_number = TextField()
    to_number = TextField()
    type = TextField()
    body_json = TextField()
    status = TextField()
    wa_message_id = TextField(null=True)
    error_code = TextField(null=True)
    error_message = TextField(null=True)
    created_at = BigIntegerField()

    class Meta:
        indexes = (
            (("account", "id"), False),
            (("number", "id"), False),
            (("wa_message_id", "number"), True),
        )

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.body_json))

    @property
    def error(self) -> tuple[str, str] | None:
        return None if self.error_code is None else (self.error_code, self.error_message or "")

    @classmethod
    def write_outbound(cls, number: Number, to: str, type_: str, body: dict[str, Any]) -> Self:
        """Write a message down as ``pending`` inside the caller's transaction."""
        return cls._write(
            number,
            body,
            direction=Direction.OUTBOUND,
            from_number=number.phone_number,
            to_number=to,
            type=type_,
            status=MessageStatus.PENDING,
            created_at=clock.now(),
        )

    @classmethod
    def write_inbound(
        cls,
        number: Number,
        *,
        wa_message_id: str,
        sender: str,
        type_: str,
        body: dict[str, Any],
        at: int,
    ) -> Self | None:
        """Write an inbound message down inside the caller's transaction. None when it is known."""
        if (number.id,) in _NUMBERS_OF_NETWORK_ID.execute(wa_message_id):
            return None
        return cls._write(
            number,
            body,
            direction=Direction.INBOUND,
            from_number=sender,
            to_number=number.phone_number,
            type=type_,
            status=MessageStatus.RECEIVED,
            wa_message_id=wa_message_id,
            created_at=at,
        )

    @classmethod
    def _write(cls, number: Number, body: dict[str, Any], **values: Any) -> Self:
        return cls.create(
            id=new_id("msg"),
            account=number.account_id,
            number=number.id,
            body_json=json.dumps(body),
            **values,
        )

    def has_been(self, status: MessageStatus) -> bool:
        """Whether its history has this step."""
        if STATUS_RANK[status] > STATUS_RANK[self.status]:
            return False
        steps = StatusChange.select().where(StatusChange.message == self.id)
        return bool(steps.where(StatusChange.status == status).exists())

    def advance(
        self,
        status: MessageStatus,
        *,
        at: int,
        wa_message_id: str | None = None,
        error: tuple[str, str] | None = None,
    ) -> bool:
        """Record a step inside the caller's transaction. True when the status moved forwards.

        A lower step is kept in the history only. Of a repeated one the earliest time stays.
        """
        code, text = error or (None, None)
        forwards = STATUS_RANK[status] > STATUS_RANK[self.status]
        _KEEP_STEP.execute(self.id, status, at, code, text)
        changes: dict[str, str | None] = {}
        if wa_message_id and not self.wa_message_id:
            changes["wa_message_id"] = wa_message_id
        if forwards:
            changes |= {"status": status, "error_code": code, "error_message": text}
        if changes:
            _assign(*changes).execute(self.id, *changes.values())
            self.__data__.update(changes)
        return forwards

    @classmethod
    def rows_sent(cls, network_ids: Sequence[str], ids: Sequence[str]) -> Iterator["Message"]:
        """Outbound ones by the network's identifiers or ours, some twice, in the caller's transaction."""
        return chain(_SENT_BY_NETWORK_ID.execute(network_ids), _SENT_BY_ID.execute(ids))

    @classmethod
    def unsettled_before(cls, status: MessageStatus, before: int) -> list[str]:
        """Identifiers of the oldest messages in ``status`` that were created before a time."""
        query = cls.select(cls.id).where(
            IS_UNSETTLED, cls.status == status, cls.created_at < before
        )
        with reading():
            return [row.id for row in query.order_by(cls.id).limit(MOST_UNSETTLED)]

    def history(self) -> list["StatusChange"]:
        """Every step, in the order in which a message takes them. Its own row tells the first."""
        is_outbound = self.direction == Direction.OUTBOUND
        first = MessageStatus.PENDING if is_outbound else MessageStatus.RECEIVED
        with reading():
            kept = StatusChange.select().where(StatusChange.message == self.id)
            steps = sorted(kept, key=lambda step: STATUS_RANK[step.status])
        return [StatusChange(message=self.id, status=first, at=self.created_at), *steps]


# Few of the many messages have not arrived, and most come out of these indexes within seconds.
Message.add_index(Message.account, Message.id, where=IS_UNARRIVED, name="message_unarrived")
Message.add_index(Message.id, where=IS_UNSETTLED, name="message_unsettled")
# Accounts that only notify get few answers.
Message.add_index(Message.account, Message.id, where=IS_INBOUND, name="message_inbound")
# What messages are found by (models.finding). Most are texts and templates, and never come into the last one.
Message.add_index(Message.account, OTHER_PARTY, Message.id, name="message_other_party")
Message.add_index(Message.account, Message.created_at, Message.id, name="message_time")
Message.add_index(
    Message.account, Message.type, Message.id, where=IS_RARE_TYPE, name="message_rare_type"
)


class StatusChange(BaseModel):
    """One step of a message after its first: ``at`` is the network's time."""

    id = BigAutoField()
    message = ForeignKeyField(Message, lazy_load=False, on_delete="CASCADE", index=False)
    status = TextField()
    at = BigIntegerField()
    error_code = TextField(null=True)
    error_message = TextField(null=True)

    class Meta:
        indexes = ((("message", "status"), True),)


def _sent(identifier: Any) -> Prepared:
    return Prepared(
        (
            lambda values: Message.select().where(
                is_in(identifier, values), Message.direction == Direction.OUTBOUND
            )
        ),
        Message,
    )


_SENT_BY_NETWORK_ID, _SENT_BY_ID = _sent(Message.wa_message_id), _sent(Message.id)
_NUMBERS_OF_NETWORK_ID = Prepared(
    lambda wa_message_id: Message.select(Message.number).where(
        Message.wa_message_id == wa_message_id
    )
)
_KEEP_STEP = Prepared(
    lambda message_id, status, at, code, text: StatusChange.insert(
        message=message_id, status=status, at=at, error_code=code, error_message=text
    ).on_conflict(
        conflict_target=[StatusChange.message, StatusChange.status],
        preserve=[StatusChange.at],
        where=StatusChange.at > EXCLUDED.at,
    )
)


@cache
def _assign(*columns: str) -> Prepared:
    """Assign these columns, in their order, of the message with the identifier that comes first."""
    return Prepared(
        lambda message_id, *values: Message.update(dict(zip(columns, values, strict=True))).where(
            Message.id == message_id
        )
    )
