"""Messages, in and out, their status and its history.

A status never moves backwards: STATUS_RANK orders them, and every step that arrived is kept.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Self

from peewee import SQL, BigAutoField, BigIntegerField, ForeignKeyField, Select, TextField, fn

from models import clock
from models.account import Account
from models.clock import new_id
from models.database import BaseModel, Prepared, reading
from models.number import Number
from models.page import Page, fetch_page
from models.tally import MessageTally

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


# In the order in which a message gets there. One that failed may still turn out delivered, never the other
# way round.
STATUS_RANK = {status: rank for rank, status in enumerate(MessageStatus)}
UNSETTLED = (MessageStatus.PENDING, MessageStatus.UNKNOWN)
UNARRIVED = (*UNSETTLED, MessageStatus.SENT, MessageStatus.FAILED)
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_UNSETTLED = SQL("status IN ('pending', 'unknown')")
IS_UNARRIVED = SQL("status IN ('pending', 'unknown', 'sent', 'failed')")
IS_INBOUND = SQL("direction = 'INBOUND'")


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

    def advance(
        self,
        status: MessageStatus,
        *,
        at: int,
        wa_message_id: str | None = None,
        error: tuple[str, str] | None = None,
    ) -> bool:
        """Record a step inside the caller's transaction. True when the status moved forwards.

        A lower step is kept in the history only. Of a repeated one the earliest time stays, so that
        neither the status nor the history depends on the order in which the steps become known.
        """
        code, text = error or (None, None)
        forwards = STATUS_RANK[status] > STATUS_RANK[MessageStatus(self.status)]
        # The status is the highest step of the history, so a higher one cannot be there yet.
        if forwards:
            StatusChange.create(
                message=self.id, status=status, at=at, error_code=code, error_message=text
            )
        else:
            _ANTEDATE_STEP.execute(self.id, status, at)
            _APPEND_STEP.execute(self.id, status, at, code, text)
        changes: dict[str, str | None] = {}
        if wa_message_id and not self.wa_message_id:
            changes["wa_message_id"] = wa_message_id
        if forwards:
            changes |= {"status": status, "error_code": code, "error_message": text}
        if changes:
            _change(tuple(changes)).execute(*changes.values(), self.id)
            self.__data__.update(changes)
        return forwards

    @classmethod
    def find_sent(
        cls, phone_number_id: str, wa_message_id: str, message_id: str | None
    ) -> "Message | None":
        """The message a status is about, by the network's identifier, else by ours.

        Inside the caller's transaction. The number may have been another account's when it was sent.
        """
        known = _SENT_BY_NETWORK_ID.execute(wa_message_id, phone_number_id).first()
        if known is None and message_id is not None:
            known = _SENT_BY_ID.execute(message_id, phone_number_id).first()
        return known

    @classmethod
    def page(
        cls,
        account_id: str,
        limit: int,
        offset: int,
        *,
        number_id: str | None = None,
        direction: str | None = None,
        status: str | None = None,
    ) -> Page[Self]:
        query = cls.select().where(cls.account == account_id)
        tallies = MessageTally.select().where(MessageTally.account_id == account_id)
        for column, tallied, wanted in (
            (cls.number, MessageTally.number_id, number_id),
            (cls.direction, MessageTally.direction, direction),
            (cls.status, MessageTally.status, status),
        ):
            if wanted is not None:
                query, tallies = query.where(column == wanted), tallies.where(tallied == wanted)
        if status in UNARRIVED:
            query = query.where(IS_UNARRIVED)
        elif direction == Direction.INBOUND and number_id is None:
            query = query.where(IS_INBOUND)
        return fetch_page(query.order_by(cls.id.desc()), limit, offset, tallies)

    @classmethod
    def unsettled_before(cls, status: MessageStatus, before: int) -> list[str]:
        """Identifiers of the oldest messages in ``status`` that were created before a time."""
        with reading():
            return [id_ for (id_,) in _UNSETTLED.execute(status, before)]

    def history(self) -> list["StatusChange"]:
        """Every step of the message, in the order in which a message takes them (STATUS_RANK).

        The row of the message itself tells the first step. Two callbacks that are ingested at the same time
        may record theirs in either order.
        """
        is_outbound = self.direction == Direction.OUTBOUND
        first = MessageStatus.PENDING if is_outbound else MessageStatus.RECEIVED
        with reading():
            kept = StatusChange.select().where(StatusChange.message == self.id)
            steps = sorted(kept, key=lambda step: STATUS_RANK[MessageStatus(step.status)])
        return [StatusChange(message=self.id, status=first, at=self.created_at), *steps]


# Few of the many messages have not arrived, and most come out of these indexes within seconds.
Message.add_index(Message.account, Message.id, where=IS_UNARRIVED, name="message_unarrived")
Message.add_index(Message.id, where=IS_UNSETTLED, name="message_unsettled")
# Accounts that only notify get few answers.
Message.add_index(Message.account, Message.id, where=IS_INBOUND, name="message_inbound")


class StatusChange(BaseModel):
    """One step of a message after its first: ``at`` is the network's time."""

    id = BigAutoField()
    message = ForeignKeyField(Message, lazy_load=False, on_delete="CASCADE")
    status = TextField()
    at = BigIntegerField()
    error_code = TextField(null=True)
    error_message = TextField(null=True)

    @classmethod
    def has(cls, message: Message, status: MessageStatus) -> bool:
        return _STEP.execute(message.id, status).first() is not None


def _sent(identifier: Any) -> Prepared:
    """Outbound messages with this identifier, of any of our numbers that the network calls so."""
    # Asked of each message that was found. No database may begin with the messages of the number.
    number = Number.select(Number.phone_number_id).where(Number.id == Message.number)
    is_outbound = Message.direction == Direction.OUTBOUND
    return Prepared(
        lambda value, phone_number_id: Message.select().where(
            identifier == value, number == phone_number_id, is_outbound
        ),
        Message,
    )


_SENT_BY_NETWORK_ID, _SENT_BY_ID = _sent(Message.wa_message_id), _sent(Message.id)
_NUMBERS_OF_NETWORK_ID = Prepared(
    lambda wa_message_id: Message.select(Message.number).where(
        Message.wa_message_id == wa_message_id
    )
)
_UNSETTLED = Prepared(
    lambda status, before: (
        Message.select(Message.id)
        .where(IS_UNSETTLED, Message.status == status, Message.created_at < before)
        .order_by(Message.id)
        .limit(MOST_UNSETTLED)
    )
)


def _is_step(message_id: Any, status: Any) -> Any:
    return (StatusChange.message == message_id) & (StatusChange.status == status)


def _append_step(message_id: Any, status: Any, at: Any, code: Any, text: Any) -> Any:
    """Unless it is there."""
    known = StatusChange.select().where(_is_step(message_id, status))
    values = Select(columns=[message_id, status, at, code, text]).where(~fn.EXISTS(known))
    names = ("message", "status", "at", "error_code", "error_message")
    return StatusChange.insert_from(values, [getattr(StatusChange, name) for name in names])


_STEP = Prepared(
    lambda message_id, status: StatusChange.select(StatusChange.id).where(
        _is_step(message_id, status)
    )
)
_APPEND_STEP = Prepared(_append_step)
_ANTEDATE_STEP = Prepared(
    lambda message_id, status, at: StatusChange.update(at=at).where(
        _is_step(message_id, status), StatusChange.at > at
    )
)


@cache
def _change(columns: Sequence[str]) -> Prepared:
    """Assign these columns, in their order, of the message with the identifier that comes last."""
    return Prepared(
        lambda *slots: Message.update(dict(zip(columns, slots[:-1], strict=True))).where(
            Message.id == slots[-1]
        )
    )
