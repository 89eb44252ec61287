"""The recipients of a broadcast, which are its work (models.work).

A row waits until its message is stored, in the transaction that ends its claim. From then on it says the same
as its message. A row that is left out has the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Self

import orjson
from peewee import SQL, BigAutoField, BigIntegerField, IntegerField, TextField, fn

from models import clock
from models.database import Prepared, database, database_time, fetch, many_rows, reading
from models.decoded import Decoded
from models.messages.message import IS_OF_BROADCAST, Message
from models.page import Page, Start, fetch_page
from models.work import Work

# As literals, because SQLite uses a partial index only for a condition it can read.
IS_WAITING = SQL("due_at IS NOT NULL")
IS_LEFT_OUT = SQL("skipped IS NOT NULL")


class Skipped(StrEnum):
    """Why a recipient gets no message (openapi.yaml, BroadcastSkipReason)."""

    OPTED_OUT = "opted_out"
    DUPLICATE = "duplicate"
    NO_WINDOW = "no_open_window"
    INVALID = "invalid_content"
    MESSAGING_LIMIT = "messaging_limit"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ERASED = "erased"


class Entry(NamedTuple):
    """A recipient to add: a phone number or user id, the values of its placeholders, and its reference."""

    to: str
    parameters: Mapping[str, str]
    reference: str | None = None


class Outcome(NamedTuple):
    """How a claim ends: with a message, with the reason to leave the recipient out, or due again."""

    message_id: str | None = None
    skipped: Skipped | None = None
    detail: str | None = None
    due_at: int | None = None


class BroadcastRecipient(Work):
    """One recipient of the list ``list_id``. Without ``due_at`` it waits for nothing.

    ``skipped`` is a Skipped, and ``detail`` says more. ``message_id`` is its message.
    """

    id = BigAutoField()
    list_id = TextField()
    to_number = TextField()
    parameters_json = TextField()
    parameters = Decoded(orjson.loads, "parameters_json")
    reference = TextField(null=True)
    due_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    lease_token = TextField(null=True)
    skipped = TextField(null=True)
    detail = TextField(null=True)
    message_id = TextField(null=True)

    order = ("due_at", "id")
    divided = "list_id"

    class Meta:
        indexes = ((("list_id", "id"), False), (("to_number",), False))

    @classmethod
    def add_many(cls, list_id: str, entries: Iterable[Entry]) -> int:
        """Add recipients, in the caller's transaction. Returns how many."""
        # Due at once, also after the clock was set back.
        rows = [
            (list_id, each.to, orjson.dumps(each.parameters).decode(), each.reference, 0, 0)
            for each in entries
        ]
        if not rows:
            return 0
        added, values = many_rows(rows, ADDED)
        names = ", ".join(ADDED)
        # S608: the names of our own columns.
        database.execute_sql(f"INSERT INTO broadcast_recipient ({names}) {added}", values)
        return len(rows)

    @classmethod
    def remove_some(cls, list_id: str, limit: int) -> int:
        """Remove up to ``limit`` of a list, in the caller's transaction. Returns how many."""
        some = cls.select(cls.id).where(cls.list_id == list_id).limit(limit)
        return int(cls.delete().where(cls.id.in_(some)).execute())

    @classmethod
    def keep(cls, ended: Iterable[tuple[Self, Outcome]]) -> int:
        """End the claims of these rows with their outcomes, in the caller's transaction.

        Returns how many this worker still held.
        """
        rows = [(*outcome, row.id, row.lease_token) for row, outcome in ended]
        return _end.execute_many(rows)

    @classmethod
    def recall_claims(cls, list_id: str, lease_ms: int) -> None:
        """End claims from before the clock was set back (``recall``)."""
        cls.recall(lease_ms, 0, cls.list_id == list_id, cls.lease_token.is_null(is_null=False))

    @classmethod
    def wait_again(cls, list_id: str, message_id: str, due_at: Any) -> None:
        """The message was certainly not sent: its recipient waits again, in the caller's transaction."""
        theirs = cls.message_id == message_id, cls.list_id == list_id
        again = cls.update(due_at=due_at, message_id=None, tries=cls.tries - 1)
        again.where(*theirs).execute()

    @classmethod
    def close(cls, list_id: str, skipped: Skipped, most: int) -> int:
        """Leave out up to ``most`` of those who wait, in the caller's transaction. Returns how many."""
        waiting = cls.select(cls.id).where(cls.list_id == list_id, IS_WAITING).limit(most)
        closed = cls.update(due_at=None, lease_token=None, skipped=skipped)
        # Not those that a worker is about to send.
        idle = cls.lease_token.is_null() | (cls.due_at <= database_time(clock.now()))
        return int(closed.where(cls.id.in_(waiting), idle, IS_WAITING).execute())

    @classmethod
    def first_parameters(cls, list_id: str) -> dict[str, str]:
        """The parameters of the first recipient, empty if it was erased."""
        query = cls.select().where(cls.list_id == list_id).order_by(cls.id).limit(1)
        return next((dict(row.parameters) for row in fetch(query)), {})

    @classmethod
    def page(
        cls, list_id: str, broadcast_id: str, limit: int, start: Start, status: str | None
    ) -> "Page[Self]":
        """The recipients in their order, of those with a status of the contract if one is given."""
        query = cls.select().where(cls.list_id == list_id)
        if status == "waiting":
            query = query.where(IS_WAITING)
        elif status == "skipped":
            query = query.where(IS_LEFT_OUT)
        elif status is not None:
            query = query.where(cls._has_message(broadcast_id, status))
        return fetch_page(query, limit, start, is_ascending=True)

    @classmethod
    def _has_message(cls, broadcast_id: str, status: str) -> Any:
        """The condition that the message has this status, or with ``removed`` is no longer kept."""
        messages = Message.select(Message.id).where(
            IS_OF_BROADCAST, Message.broadcast_id == broadcast_id
        )
        if status != "removed":
            return cls.message_id.in_(messages.where(Message.status == status))
        return cls.message_id.is_null(is_null=False) & cls.message_id.not_in(messages)

    @classmethod
    def after(cls, list_id: str, last_id: int, limit: int) -> list[Self]:
        """The next recipients of a list, in their order."""
        rest = cls.select().where(cls.list_id == list_id, cls.id > last_id)
        return fetch(rest.order_by(cls.id).limit(limit))

    @classmethod
    def next_due(cls, list_id: str) -> int | None:
        """When the first of those who wait is due, None if nobody waits."""
        query = cls.select(fn.MIN(cls.due_at)).where(cls.list_id == list_id, IS_WAITING)
        with reading():
            found = query.scalar()
        return None if found is None else int(found)

    @classmethod
    def counts(cls, list_id: str) -> dict[str, int]:
        """How many were left out, by reason. The key of those who wait is empty."""
        waiting = cls.select(SQL("''"), fn.COUNT(SQL("*"))).where(
            cls.list_id == list_id, IS_WAITING
        )
        left_out = cls.select(cls.skipped, fn.COUNT(SQL("*")))
        left_out = left_out.where(cls.list_id == list_id, IS_LEFT_OUT).group_by(cls.skipped)
        return dict(fetch((waiting + left_out).tuples()))

    @classmethod
    def erase(cls, people: Sequence[str], lists: Any) -> int:
        """Forget these people in the lists of a query, in the caller's transaction. None waits any more."""
        forgotten = {
            "to_number": "",
            "parameters_json": "{}",
            "reference": None,
            "message_id": None,
        }
        ended = {"due_at": None, "lease_token": None, "skipped": Skipped.ERASED}
        theirs = cls.to_number.in_(people), cls.list_id.in_(lists)
        return int(cls.update(forgotten | ended).where(*theirs).execute())


ADDED = dict.fromkeys(("list_id", "to_number", "parameters_json", "reference"), "text") | {
    "due_at": "bigint",
    "tries": "integer",
}
BroadcastRecipient.add_index(
    BroadcastRecipient.list_id,
    BroadcastRecipient.due_at,
    BroadcastRecipient.id,
    where=IS_WAITING,
    name="broadcast_recipient_waiting",
)
BroadcastRecipient.add_index(
    BroadcastRecipient.list_id,
    BroadcastRecipient.skipped,
    where=IS_LEFT_OUT,
    name="broadcast_recipient_skipped",
)
BroadcastRecipient.add_index(
    BroadcastRecipient.message_id,
    where=SQL("message_id IS NOT NULL"),
    name="broadcast_recipient_message",
)


@Prepared
def _end(*slots: Any) -> Any:
    message_id, skipped, detail, due_at, row_id, token = slots
    cls = BroadcastRecipient
    changes = {
        "message_id": message_id,
        "skipped": skipped,
        "detail": detail,
        "due_at": due_at,
        "lease_token": None,
    }
    return cls.update(changes).where(cls.id == row_id, cls.lease_token == token)
