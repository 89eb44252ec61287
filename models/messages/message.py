"""Messages, in and out, their status and its history.

A status never moves backwards: STATUS_RANK orders them, and every step that arrived is kept.
"""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain, pairwise
from typing import Any, NamedTuple, Self

from peewee import (
    EXCLUDED,
    SQL,
    BigAutoField,
    BigIntegerField,
    ForeignKeyField,
    IntegerField,
    TextField,
    fn,
)

from models import clock
from models.accounts.account import Account
from models.database import BaseModel, Prepared, database, fetch, is_in, many_rows, reading
from models.long_text import LongText
from models.messages.content import MOST_CONTENT, as_json
from models.numbers.number import Number

# The most unsettled messages that one query returns.
MOST_UNSETTLED = 10_000


class Direction(StrEnum):
    INBOUND = "INBOUND"
    OUTBOUND = "OUTBOUND"


class Origin(StrEnum):
    """Where a message comes from. The column is empty for the API, and for what a person has just written."""

    API = "API"
    APP = "APP"
    HISTORY = "HISTORY"


class Change(StrEnum):
    """What a message does to an earlier one. As in networks.items, which no model imports."""

    EDITED = "edited"
    DELETED = "deleted"


class MessageStatus(StrEnum):
    PENDING = "pending"
    UNKNOWN = "unknown"
    SENT = "sent"
    FAILED = "failed"
    DELIVERED = "delivered"
    READ = "read"
    RECEIVED = "received"


# A status with a higher rank wins. A failed message may still be delivered.
STATUS_RANK: dict[str, int] = {status: rank for rank, status in enumerate(MessageStatus)}
UNSETTLED = (MessageStatus.PENDING, MessageStatus.UNKNOWN)
UNARRIVED = (*UNSETTLED, MessageStatus.SENT, MessageStatus.FAILED)
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_UNSETTLED = SQL("status IN ('pending', 'unknown')")
IS_UNARRIVED = SQL("status IN ('pending', 'unknown', 'sent', 'failed')")
IS_INBOUND = SQL("direction = 'INBOUND'")
# As a parameter, it would make SQLite plan the query again each time.
IS_OUTBOUND = SQL("direction = 'OUTBOUND'")
FREQUENT_TYPES = ("text", "template")
IS_RARE_TYPE = SQL("type NOT IN ('text', 'template')")
IS_PERSONS = SQL("contact_id IS NOT NULL")
IS_BACKDATED = SQL("is_backdated = 1")
# An edit or a deletion whose message is not stored.
IS_EARLY = SQL("change IS NOT NULL AND quoted_id IS NULL")
HAS_REFERENCE = SQL("reference IS NOT NULL")
IS_OF_BROADCAST = SQL("broadcast_id IS NOT NULL")


# The first status of a message that the API did not send.
FIRST = {Direction.INBOUND: MessageStatus.RECEIVED, Direction.OUTBOUND: MessageStatus.SENT}


class Failure(NamedTuple):
    """Why a message failed: the code and text of the first error, and Message.errors_json."""

    code: str
    text: str
    errors_json: str | None = None


class Stored(NamedTuple):
    """What is stored of a message of the network.

    ``id`` and ``origin`` are those of its row, if there is one. ``early`` are its edits and deletions that
    arrived before it.
    """

    id: str | None
    origin: str | None
    early: list[str]


class Message(BaseModel):
    """One message. ``body_json`` is the whole content as JSON text, or None in a row of a list.

    ``pricing_json`` is an object with ``billable``, ``model``, ``category`` and ``type``, each of which may
    be null. ``pricing_status`` is the status that carried it.
    """

    account_id: str
    number_id: str
    id = TextField(primary_key=True)
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    number = ForeignKeyField(Number, lazy_load=False, index=False)
    # The person, a row of models.messages.contact. None for messages older than contacts, or without one.
    contact_id = TextField(null=True)
    direction = TextField()
    from_number = TextField()
    to_number = TextField()
    type = TextField()
    body_json = TextField()
    status = TextField()
    wa_message_id = TextField(null=True)
    error_code = TextField(null=True)
    error_message = TextField(null=True)
    # All errors, each an object with ``code``, ``text`` and the network's words. None if there is no more.
    errors_json = TextField(null=True)
    # The message that it replies to, reacts to, edits or deletes: the gateway's identifier if known, and the
    # network's.
    quoted_id = TextField(null=True)
    quoted_wa_id = TextField(null=True)
    created_at = BigIntegerField()
    # The time of the latest step, None before the second one.
    changed_at = BigIntegerField(null=True)
    # The network's ``message_status`` when it accepted the message.
    acceptance = TextField(null=True)
    pricing_json = TextField(null=True)
    pricing_status = TextField(null=True)
    # The caller's own name for it. None for inbound messages.
    reference = TextField(null=True)
    # The network's own time of an inbound message, or of the latest step. It may be before ``created_at``.
    network_at = BigIntegerField(null=True)
    group_id = TextField(null=True)
    # None for messages that the API sent, or that a person wrote since the number is connected.
    origin = TextField(null=True)
    # 0 if it opens no customer service window, otherwise None.
    opens_window = IntegerField(null=True)
    # What it does to the message that it is about.
    change = TextField(null=True)
    # When its author edited it last, and the message with the new content. When the author deleted it.
    edited_at = BigIntegerField(null=True)
    edit_id = TextField(null=True)
    deleted_at = BigIntegerField(null=True)
    # 1 if the content is still to come, otherwise None.
    is_placeholder = IntegerField(null=True)
    # 1 if its identifier is of an earlier time than its arrival, otherwise None.
    is_backdated = IntegerField(null=True)
    broadcast_id = TextField(null=True)

    class Meta:
        indexes = (
            (("account", "id"), False),
            (("number", "id"), False),
            (("wa_message_id", "number"), True),
        )

    @property
    def content(self) -> str | None:
        """The content as JSON text, which a row of a list reads now. None for more than MOST_CONTENT."""
        text = CONTENT.of(self)
        return None if text is None or len(text.encode()) > MOST_CONTENT else text

    @property
    def body(self) -> dict[str, Any]:
        """The content. Empty for more than MOST_CONTENT."""
        return dict(json.loads(self.content or "{}"))

    @property
    def other_party(self) -> str:
        """The phone number or user id of the person."""
        inbound = self.direction == Direction.INBOUND
        return str(self.from_number if inbound else self.to_number)

    @classmethod
    def write_outbound(
        cls,
        number: Number,
        to: str,
        type_: str,
        body: dict[str, Any],
        *,
        contact_id: str,
        quoted: "Message | None" = None,
        reference: str | None = None,
        group_id: str | None = None,
    ) -> Self:
        """Store a message as ``pending`` inside the caller's transaction."""
        return cls.write(
            number,
            body,
            contact_id=contact_id,
            created_at=clock.now(),
            direction=Direction.OUTBOUND,
            from_number=number.phone_number,
            to_number=to,
            type=type_,
            status=MessageStatus.PENDING,
            quoted_id=quoted and quoted.id,
            quoted_wa_id=quoted and quoted.wa_message_id,
            reference=reference,
            group_id=group_id,
        )

    @classmethod
    def write_pending(cls, number: Number, broadcast_id: str, outgoing: Sequence[Self]) -> None:
        """Store the messages of a broadcast as ``pending`` in one statement, in the caller's transaction.

        The caller sets their recipients, contacts, contents and references. This sets the rest.
        """
        now = clock.now()
        for message, message_id in zip(outgoing, clock.new_ids("msg", len(outgoing)), strict=True):
            message.__data__.update(
                id=message_id,
                account=number.account_id,
                number=number.id,
                created_at=now,
                direction=Direction.OUTBOUND,
                from_number=number.phone_number,
                status=MessageStatus.PENDING,
                broadcast_id=broadcast_id,
            )
        rows = [[message.__data__[name] for name in PENDING] for message in outgoing]
        added, values = many_rows(rows, PENDING_COLUMNS)
        # S608: the names of our own columns.
        insert = f"INSERT INTO message ({', '.join(PENDING_COLUMNS)}) {added}"
        database.execute_sql(insert, values)

    @classmethod
    def named(cls, number: Number, wa_message_id: str) -> str | None:
        """The gateway's identifier of the number's message with this one, inside the caller's transaction."""
        row = _IDS_OF_NETWORK_ID.first(wa_message_id, number.id)
        return None if row is None else str(row[0])

    @classmethod
    def stored(cls, number: Number, wa_message_id: str) -> Stored:
        """What is stored of the number's message with this identifier, inside the caller's transaction."""
        rows = list(_STORED.execute(wa_message_id, number.id))
        own = next((row for row in rows if row[1] == wa_message_id), (None, None, None))
        return Stored(own[0], own[2], [row[0] for row in rows if row[1] != wa_message_id])

    @classmethod
    def write_inbound(
        cls,
        number: Number,
        contact_id: str | None,
        *,
        wa_message_id: str,
        sender: str,
        type_: str,
        body: dict[str, Any],
        at: int,
        quoted_wa_id: str | None = None,
        **known: str | int | None,
    ) -> Self:
        """Store a new inbound message inside the caller's transaction.

        ``known`` are ``network_at``, ``group_id``, ``opens_window`` and ``change``, if they are known.
        """
        return cls.write(
            number,
            body,
            contact_id=contact_id,
            created_at=at,
            direction=Direction.INBOUND,
            from_number=sender,
            to_number=number.phone_number,
            type=type_,
            status=MessageStatus.RECEIVED,
            wa_message_id=wa_message_id,
            quoted_id=quoted_wa_id and cls.named(number, quoted_wa_id),
            quoted_wa_id=quoted_wa_id,
            **known,
        )

    @classmethod
    def write(cls, number: Number, body: dict[str, Any], **values: Any) -> Self:
        """Store a message with these columns inside the caller's transaction."""
        given = {"id": clock.new_id("msg")} | values
        return cls.create(
            account=number.account_id, number=number.id, body_json=as_json(body), **given
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
        acceptance: str | None = None,
        error: "tuple[str, str] | Failure | None" = None,
        pricing: dict[str, Any] | None = None,
        network_at: int | None = None,
    ) -> bool:
        """Record a step inside the caller's transaction. Returns whether the status moved forwards.

        A step with a lower rank is stored in the history only. A repeated one keeps the earliest time.
        A ``pricing`` replaces that of the same status or a lower one. ``network_at`` is the network's time.
        """
        failure = Failure(*error) if error else None
        forwards = STATUS_RANK[status] > STATUS_RANK[self.status]
        changes = self.changed_by(
            status, at, wa_message_id, acceptance, failure, pricing, network_at
        )
        self.keep_step(status, at, failure)
        self.assign(changes)
        return forwards

    @classmethod
    def accept_many(cls, accepted: Sequence[tuple[Self, str, str | None]], at: int) -> None:
        """The network accepted these messages: like ``advance`` to ``sent``, in few statements.

        With each message are the network's identifier and its word about the acceptance.
        """
        sent = MessageStatus.SENT
        changes = [
            (message, message.changed_by(sent, at, network_id, acceptance))
            for message, network_id, acceptance in accepted
        ]
        _KEEP_STEP.execute_many([(row.id, sent, at, None, None, None) for row, _ in changes])
        cls.assign_many(changes)

    def changed_by(
        self,
        status: MessageStatus,
        at: int,
        wa_message_id: str | None,
        acceptance: str | None,
        failure: Failure | None = None,
        pricing: dict[str, Any] | None = None,
        network_at: int | None = None,
    ) -> dict[str, str | int | None]:
        """The columns that a step changes (``advance``)."""
        code, text, errors = failure or (None, None, None)
        forwards = STATUS_RANK[status] > STATUS_RANK[self.status]
        changes: dict[str, str | int | None] = {}
        if wa_message_id and not self.wa_message_id:
            changes["wa_message_id"] = wa_message_id
        if acceptance:
            changes["acceptance"] = acceptance
        if forwards:
            changes |= {
                "status": status,
                "error_code": code,
                "error_message": text,
                "errors_json": errors,
                "changed_at": self.placed(status, at),
            }
        is_same = status == self.status and self.network_at is None
        if network_at is not None and (forwards or is_same):
            changes["network_at"] = network_at
        return changes | self._repricing(status, pricing)

    def keep_step(self, status: str, at: int, failure: Failure | None = None) -> None:
        """Store a step in the history. A repeated one keeps the earliest time."""
        _KEEP_STEP.execute(self.id, status, at, *(failure or (None, None, None)))

    def placed(self, status: MessageStatus, at: int) -> int:
        """The time of a step as shown: not before the previous step, because the network rounds times."""
        latest = self.created_at if self.changed_at is None else self.changed_at
        forwards = STATUS_RANK[status] > STATUS_RANK[self.status]
        return max(at, latest) if forwards else min(max(at, self.created_at), latest)

    def _repricing(
        self, status: MessageStatus, pricing: dict[str, Any] | None
    ) -> dict[str, str | None]:
        """The columns that a status with a pricing changes: none if a higher status had a pricing."""
        known = STATUS_RANK[self.pricing_status or MessageStatus.PENDING]
        if pricing is None or STATUS_RANK[status] < known:
            return {}
        new = {"pricing_json": json.dumps(pricing), "pricing_status": status}
        return {name: value for name, value in new.items() if value != getattr(self, name)}

    @classmethod
    def rows_sent(cls, network_ids: Sequence[str], ids: Sequence[str]) -> Iterator["Message"]:
        """Outbound messages by either identifier, some twice, in the caller's transaction."""
        return chain(_SENT_BY_NETWORK_ID.execute(network_ids), _SENT_BY_ID.execute(ids))

    @classmethod
    def unsettled_before(cls, status: MessageStatus, before: int) -> list[str]:
        """Identifiers of the oldest messages in ``status`` that were created before a time."""
        query = cls.select(cls.id).where(
            IS_UNSETTLED, cls.status == status, cls.created_at < before
        )
        return [row.id for row in fetch(query.order_by(cls.id).limit(MOST_UNSETTLED))]

    @classmethod
    def contacts_with(cls, broadcast_id: str, contact_ids: Sequence[str]) -> set[str]:
        """Those of these contacts who have a message of the broadcast, in the caller's transaction."""
        return {row[0] for row in _WITH_BROADCAST.execute(list(contact_ids), broadcast_id)}

    @classmethod
    def is_any_pending(cls, broadcast_id: str) -> bool:
        """Whether a message of the broadcast is on its way to the network."""
        pending = cls.broadcast_id == broadcast_id, cls.status == MessageStatus.PENDING
        with reading():
            return bool(cls.select(cls.id).where(IS_OF_BROADCAST, *pending).exists())

    @classmethod
    def counts_of_broadcast(cls, broadcast_id: str) -> dict[str, int]:
        """The number of a broadcast's messages by status."""
        counts = cls.select(cls.status, fn.COUNT(SQL("*"))).where(
            IS_OF_BROADCAST, cls.broadcast_id == broadcast_id
        )
        return dict(fetch(counts.group_by(cls.status).tuples()))

    @classmethod
    def failures_of_broadcast(cls, broadcast_id: str, most: int) -> list[tuple[str | None, int]]:
        """The most frequent error codes of a broadcast's failed messages, with their number."""
        failed = cls.select(cls.error_code, fn.COUNT(SQL("*")).alias("total")).where(
            IS_OF_BROADCAST, cls.broadcast_id == broadcast_id, cls.status == MessageStatus.FAILED
        )
        frequent = failed.group_by(cls.error_code).order_by(SQL("total").desc(), cls.error_code)
        return list(fetch(frequent.limit(most).tuples()))

    @classmethod
    def remove_unsent(cls, message: "Message") -> bool:
        """Delete a message that certainly was not sent, in the caller's transaction. False if it was."""
        is_it = cls.id == message.id, cls.status.in_(UNSETTLED), cls.wa_message_id.is_null()
        return bool(cls.delete().where(*is_it).execute())

    def history(self) -> list["StatusChange"]:
        """Every step, in the order of STATUS_RANK. The first comes from the message's row."""
        first = MessageStatus.PENDING
        if self.direction == Direction.INBOUND or self.origin is not None:
            first = FIRST[Direction(self.direction)]
        kept = fetch(StatusChange.select().where(StatusChange.message == self.id))
        steps = sorted(kept, key=lambda step: STATUS_RANK[step.status])
        for sent in steps[:1]:
            # A later step may have arrived first.
            sent.at = min(step.at for step in steps)
        history = [StatusChange(message=self.id, status=first, at=self.created_at), *steps]
        for before, step in pairwise(history):
            step.at = max(step.at, before.at)
        return history


CONTENT = LongText(Message.body_json, MOST_CONTENT)
# The columns of write_pending, by their attributes.
PENDING = {
    "id": "id",
    "account": "account_id",
    "number": "number_id",
    "contact_id": "contact_id",
    "direction": "direction",
    "from_number": "from_number",
    "to_number": "to_number",
    "type": "type",
    "body_json": "body_json",
    "status": "status",
    "created_at": "created_at",
    "reference": "reference",
    "broadcast_id": "broadcast_id",
}
PENDING_COLUMNS = dict.fromkeys(PENDING.values(), "text") | {"created_at": "bigint"}

# Few messages are unarrived. Most leave these indexes within seconds.
Message.add_index(Message.account, Message.id, where=IS_UNARRIVED, name="message_unarrived")
Message.add_index(Message.id, where=IS_UNSETTLED, name="message_unsettled")
# Accounts that only notify receive few messages.
Message.add_index(Message.account, Message.id, where=IS_INBOUND, name="message_inbound")
# The filters of models.messages.message_filter use these. The last one leaves out texts and templates, which
# are most.
Message.add_index(Message.account, Message.created_at, Message.id, name="message_time")
Message.add_index(
    Message.account, Message.type, Message.id, where=IS_RARE_TYPE, name="message_rare_type"
)


# For the search: these are not in its index, because they arrive later than newer messages.
Message.add_index(Message.account, Message.id, where=IS_BACKDATED, name="message_backdated")
# Each new message looks for its own. Most leave this index when their message is found.
Message.add_index(Message.quoted_wa_id, where=IS_EARLY, name="message_early")
# Only for filters by contact: without statistics PostgreSQL might choose it for lookups by identifier.
Message.add_index(Message.contact_id, Message.id, where=IS_PERSONS, name="message_contact")
Message.add_index(
    Message.account, Message.reference, Message.id, where=HAS_REFERENCE, name="message_reference"
)
Message.add_index(
    Message.broadcast_id, Message.status, where=IS_OF_BROADCAST, name="message_broadcast"
)


class StatusChange(BaseModel):
    """One step of a message after its first: ``at`` is the network's time."""

    id = BigAutoField()
    message = ForeignKeyField(Message, lazy_load=False, on_delete="CASCADE", index=False)
    status = TextField()
    at = BigIntegerField()
    error_code = TextField(null=True)
    error_message = TextField(null=True)
    errors_json = TextField(null=True)

    class Meta:
        indexes = ((("message", "status"), True),)


def _sent(identifier: Any) -> Prepared:
    return Prepared(
        lambda values: Message.select().where(IS_OUTBOUND, is_in(identifier, values)), Message
    )


_SENT_BY_NETWORK_ID, _SENT_BY_ID = _sent(Message.wa_message_id), _sent(Message.id)
_IDS_OF_NETWORK_ID = Prepared(
    lambda wa_message_id, number_id: Message.select(Message.id).where(
        Message.wa_message_id == wa_message_id, Message.number == number_id
    )
)
_THEIRS = Message.select(Message.id, Message.wa_message_id, Message.origin)
_STORED = Prepared(
    lambda wa_message_id, number_id: (
        _THEIRS.where(Message.wa_message_id == wa_message_id, Message.number == number_id)
        + _THEIRS.where(
            Message.quoted_wa_id == wa_message_id, Message.number == number_id, IS_EARLY
        )
    )
)
# Not by the index of broadcasts: one has more messages than its next recipients have.
_WITH_BROADCAST = Prepared(
    lambda contact_ids, broadcast_id: Message.select(Message.contact_id).where(
        IS_PERSONS,
        is_in(Message.contact_id, contact_ids),
        fn.COALESCE(Message.broadcast_id, "") == broadcast_id,
    )
)
_KEEP_STEP = Prepared(
    lambda message_id, status, at, code, text, errors: StatusChange.insert(
        message=message_id,
        status=status,
        at=at,
        error_code=code,
        error_message=text,
        errors_json=errors,
    ).on_conflict(
        conflict_target=[StatusChange.message, StatusChange.status],
        preserve=[StatusChange.at],
        where=StatusChange.at > EXCLUDED.at,
    )
)
