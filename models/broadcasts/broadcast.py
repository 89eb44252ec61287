"""A broadcast: what to send, from which number, when, and how far it is (ADR 95)."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Self

from peewee import SQL, BigIntegerField, ForeignKeyField, IntegerField, TextField

from models import clock
from models.accounts.account import Account, Owned
from models.broadcasts.recipient import BroadcastRecipient
from models.database import database_now, fetch, writing
from models.decoded import Decoded
from models.numbers.number import Number
from models.numbers.pace import Pace
from models.page import Page, Start, fetch_page
from models.reports.usage import BroadcastUsage

# As literals, because SQLite uses a partial index only for a condition it can read.
IS_OPEN = SQL("ended_at IS NULL")


class BroadcastState(StrEnum):
    """Where a broadcast stands (openapi.yaml, BroadcastStatus)."""

    DRAFT = "draft"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


OPEN = (BroadcastState.SCHEDULED, BroadcastState.RUNNING, BroadcastState.PAUSED)
CLOSING = (BroadcastState.CANCELLED, BroadcastState.EXPIRED)


class PauseCode(StrEnum):
    """Why a broadcast is paused (openapi.yaml, BroadcastReasonCode)."""

    BY_USER = "paused_by_user"
    TEMPLATE = "template_not_sendable"
    QUALITY = "number_quality"
    LIMITED = "number_limited"
    MESSAGING_LIMIT = "messaging_limit"
    NUMBER = "number_not_active"
    ACCOUNT = "account_action"
    STORAGE = "storage_limit"
    FAILURES = "many_failures"
    UNREADABLE = "token_unreadable"
    SUSPENDED = "account_suspended"


class AtLimit(StrEnum):
    """What happens to recipients beyond the number's messaging limit of 24 hours."""

    WAIT = "wait"
    SKIP = "skip"


class Broadcast(Owned):
    """One broadcast. Times are in milliseconds since the epoch.

    One that is cancelled or expired ends when the worker has left out all who wait. ``content_json`` is the
    value of the request's member named like ``type``. ``list_id`` is that of its recipients: its own, or that
    of a file. ``rate`` is the most messages a second, None for what the number may send. ``hours_from`` and
    ``hours_until`` are the minutes of the recipient's day between which messages may leave, None for any
    time. A paused one with ``resume_at`` continues by itself then. ``accepted`` is the PauseCode for which it
    does not pause again, because a person resumed it after that.
    """

    number_id: str
    number = ForeignKeyField(Number, lazy_load=False, index=False)
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    name = TextField()
    type = TextField()
    content_json = TextField()
    content = Decoded(json.loads, "content_json")
    list_id = TextField()
    total = IntegerField()
    state = TextField()
    reason = TextField(null=True)
    # The words of the reason, for example the network's.
    detail = TextField(null=True)
    accepted = TextField(null=True)
    rate = IntegerField(null=True)
    at_limit = TextField(default=AtLimit.WAIT)
    hours_from = IntegerField(null=True)
    hours_until = IntegerField(null=True)
    created_at = BigIntegerField()
    start_at = BigIntegerField(null=True)
    started_at = BigIntegerField(null=True)
    resume_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    expires_at = BigIntegerField(null=True)

    class Meta:
        indexes = ((("account", "id"), False),)

    @classmethod
    def search(
        cls, account_id: str, limit: int, start: Start, number_id: str | None, state: str | None
    ) -> Page[Self]:
        """The account's broadcasts, newest first, with these values."""
        wanted = [cls.account == account_id]
        wanted += [] if number_id is None else [cls.number == number_id]
        wanted += [] if state is None else [cls.state == state]
        return fetch_page(cls.select().where(*wanted), limit, start)

    @classmethod
    def in_states(cls, *states: BroadcastState) -> list[Self]:
        """Those in one of these states that have not ended, oldest first."""
        return fetch(cls.select().where(IS_OPEN, cls.state.in_(states)).order_by(cls.id))

    @classmethod
    def stopped(cls, accounts: Any) -> list[Self]:
        """Those of these accounts, which may be a query, that paused without a request."""
        is_it = cls.state == BroadcastState.PAUSED, cls.reason != PauseCode.BY_USER
        return fetch(cls.select().where(IS_OPEN, *is_it, cls.account.in_(accounts)))

    @classmethod
    def due(cls) -> list[Self]:
        """Those whose time has come: to start, to continue, or to expire."""
        open_ones = cls.in_states(*OPEN)
        if not open_ones:
            return []
        now = database_now()
        expired = min(now, clock.certain())
        return [each for each in open_ones if each.is_due(now, expired)]

    def is_due(self, now: int, expired: int) -> bool:
        """Whether its time has come. After a jump of the clock nothing expires before it is confirmed."""
        times = {
            BroadcastState.SCHEDULED: self.start_at,
            BroadcastState.PAUSED: self.resume_at,
        }
        at = times.get(BroadcastState(self.state))
        return (at is not None and at <= now) or self.has_expired(expired)

    def has_expired(self, now: int) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now

    def move(self, state: BroadcastState, *, before: Iterable[str], **changes: Any) -> bool:
        """Change the state, if it is one of ``before``, in the caller's transaction. Returns whether it was.

        The reason of a pause ends, unless ``changes`` name one.
        """
        cls = type(self)
        values = {"reason": None, "detail": None, "resume_at": None} | changes | {"state": state}
        if state == BroadcastState.DONE:
            values["ended_at"] = clock.now()
        with writing():
            moved = cls.update(values).where(cls.id == self.id, cls.state.in_(list(before)))
            if not moved.execute():
                return False
            self.__data__.update(cls.get_by_id(self.id).__data__)
        return True

    @classmethod
    def remove_old(cls, before: int, limit: int) -> int:
        """Remove one batch of what ended before a time, or is a draft from before it. Returns how many rows.

        A broadcast goes after the last of its recipients.
        """
        is_forgotten = (cls.state == BroadcastState.DRAFT) & (cls.created_at < before)
        old = cls.select().where((cls.ended_at < before) | is_forgotten).order_by(cls.id).limit(1)
        removed = 0
        # A query that ran keeps its rows.
        while removed < limit and (found := fetch(old.clone())):
            removed += found[0].remove_part(limit - removed)
        return removed

    def remove_part(self, limit: int) -> int:
        """Remove up to ``limit`` recipients, with the last one the broadcast. Returns how many rows."""
        with writing():
            removed = BroadcastRecipient.remove_some(self.list_id, limit)
            if removed < limit:
                Pace.delete().where(Pace.key == self.id).execute()
                BroadcastUsage.delete().where(BroadcastUsage.broadcast_id == self.id).execute()
                removed += int(self.delete_instance())
        return removed

    def end(self) -> bool:
        """End one that is cancelled or expired, in the caller's transaction. Returns whether it had not."""
        cls, now = type(self), clock.now()
        is_it = cls.id == self.id, cls.state.in_(CLOSING), IS_OPEN
        self.ended_at = self.ended_at or now
        return bool(cls.update(ended_at=now).where(*is_it).execute())


# The few that the worker looks for.
Broadcast.add_index(Broadcast.id, where=IS_OPEN, name="broadcast_open")
