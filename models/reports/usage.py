"""Usage: the number of messages by day, number, direction, category and billable, and the bytes stored.

A message is counted in the transaction that records its pricing, its bytes in the one that stores it.
Retention removes messages, but no totals (docs/decisions/0031-totals-are-kept.md).
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Self

from peewee import (
    SQL,
    BigIntegerField,
    BooleanField,
    CompositeKey,
    ModelSelect,
    TextField,
    Tuple,
    fn,
)

from models.accounts.account import Account
from models.clock import timestamp
from models.database import BaseModel, Prepared, adding, at_end, fetch, reading
from models.messages.message import Message

KEY = ("account_id", "day", "number_id", "direction", "category", "billable")
# The rows of one query for all rows.
PART = 1_000


class UsageTotal(BaseModel):
    """The number of messages with this key. ``day`` is the UTC day of their creation.

    ``size`` is the bytes of the contents that were stored with this key.
    """

    account_id = TextField()
    day = TextField()
    number_id = TextField()
    direction = TextField()
    category = TextField()
    billable = BooleanField()
    total = BigIntegerField()
    # The default is also that of the column: an earlier version counts no bytes.
    size = BigIntegerField(default=0, constraints=[SQL("DEFAULT 0")])

    class Meta:
        primary_key = CompositeKey(*KEY)

    @classmethod
    def has_any(cls, account_id: str, direction: str) -> bool:
        """Whether the account ever had a message in this direction."""
        query = cls.select().where(cls.account_id == account_id, cls.direction == direction)
        with reading():
            return bool(query.exists())

    @classmethod
    def of_days(
        cls, account_id: str, number_id: str | None, *, since: str, until: str
    ) -> "ModelSelect[Self]":
        """The query for the days from ``since`` to before ``until``, of all numbers or one, by KEY."""
        # A changed pricing may leave a total at zero.
        wanted = [cls.account_id == account_id, cls.total != 0, cls.day >= since, cls.day < until]
        wanted += [] if number_id is None else [cls.number_id == number_id]
        return cls.select().where(*wanted).order_by(*(getattr(cls, name) for name in KEY))

    @classmethod
    def key(cls) -> dict[str, Any]:
        """The columns by which the rows of ``of_days`` are sorted, which are unique."""
        return {name: getattr(cls, name) for name in KEY}

    @classmethod
    def in_parts(cls, query: "ModelSelect[Self]") -> Iterator[Self]:
        """The rows of a query of ``of_days``, read in parts."""
        rows = fetch(query.limit(PART))
        while rows:
            yield from rows
            key, last = (Tuple(*(getattr(row, name) for name in KEY)) for row in (cls, rows[-1]))
            rows = fetch(query.where(key > last).limit(PART))


class BroadcastUsage(BaseModel):
    """The number of a broadcast's messages with this category and billable."""

    broadcast_id = TextField()
    category = TextField()
    billable = BooleanField()
    total = BigIntegerField()

    class Meta:
        primary_key = CompositeKey("broadcast_id", "category", "billable")

    @classmethod
    def of(cls, broadcast_id: str) -> list[Self]:
        """The totals of a broadcast, by category."""
        theirs = cls.select().where(cls.broadcast_id == broadcast_id, cls.total != 0)
        return fetch(theirs.order_by(cls.category, cls.billable))


class UsageCount(Counter[tuple[Any, ...]]):
    """The changes of the totals in one transaction. ``counting`` writes them."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes = Counter[tuple[Any, ...]]()
        # By the key of BroadcastUsage.
        self.broadcasts = Counter[tuple[Any, ...]]()

    def store(self, message: Message) -> None:
        """Count the bytes of a new message."""
        self.sizes[_key(message, None)] += len(message.body_json.encode())

    def remove(self, message: Message) -> None:
        """No longer count the bytes of a message that is deleted because it was not sent."""
        self.sizes[_key(message, None)] -= len(message.body_json.encode())

    def add(self, message: Message, before: str | None = None) -> None:
        """Count a message by its pricing if it has one, and no longer by the one ``before``, if any."""
        if before is not None:
            self._count(message, before, -1)
        self._count(message, message.pricing_json, 1)

    def _count(self, message: Message, pricing_json: str | None, change: int) -> None:
        key = _key(message, pricing_json)
        self[key] += change
        if message.broadcast_id is not None:
            self.broadcasts[message.broadcast_id, *key[-2:]] += change


@contextmanager
def counting() -> Iterator[UsageCount]:
    """Collect changes, and write each changed total once at the end, inside the caller's transaction.

    Transactions write totals in a fixed order, which prevents deadlocks.
    """
    count = UsageCount()
    yield count
    at_end(_write, count)


def _write(counts: Sequence[UsageCount]) -> None:
    for key in sorted({key for count in counts for key in (*count, *count.sizes)}):
        change = sum(count[key] for count in counts)
        size = sum(count.sizes[key] for count in counts)
        if change or size:
            _ADD.execute(*key, change, size)
    for key in sorted({key for count in counts for key in count.broadcasts}):
        if change := sum(count.broadcasts[key] for count in counts):
            _ADD_TO_BROADCAST.execute(*key, change)


@lru_cache(maxsize=64)
def day_of(at: int) -> str:
    """The UTC day of a time."""
    return timestamp(at)[: len("2026-11-20")]


def _key(message: Message, pricing_json: str | None) -> tuple[Any, ...]:
    """The values of KEY for a message with this pricing."""
    row = json.loads(pricing_json) if pricing_json else {}
    category, billable = row.get("category") or "", bool(row.get("billable"))
    place = message.account_id, day_of(message.created_at), message.number_id
    return *place, message.direction, category, billable


_ADD = adding(UsageTotal, "total", "size")
_ADD_TO_BROADCAST = adding(BroadcastUsage, "total")


@Prepared
def stored_on(account_id: Any, day: Any) -> Any:
    """The plan of an account, and the bytes that it stored in a day."""
    sizes = UsageTotal.select(fn.COALESCE(fn.SUM(UsageTotal.size), 0))
    sizes = sizes.where(UsageTotal.account_id == account_id, UsageTotal.day == day)
    return Account.select(Account.plan, sizes).where(Account.id == account_id)
