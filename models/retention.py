"""Removing what is older than the operator keeps, one small batch in one short transaction.

Rows are found by their identifiers, which begin with the time of their making, so that no index on a
time is needed. What is still to be done is never removed: pending deliveries and their events,
unsettled messages, callbacks that wait.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from peewee import fn

from models import clock
from models.callback import Callback
from models.clock import id_bound
from models.database import BaseModel, Prepared, reading, writing
from models.delivery import IS_PENDING, Delivery
from models.event import Event
from models.message import Message
from models.message_status import UNSETTLED
from models.notice import Notice
from models.set_aside import SetAside
from models.sign_in_attempt import SignInAttempt
from models.signup import Signup
from models.user_session import UserSession
from models.webhook import Webhook

# How many old rows are looked at for a batch. Those that must stay are few, so this is room enough; it
# keeps the search short while the rows that hold others back are themselves a long way from removed.
WINDOW = 2_000


@dataclass(frozen=True)
class Removal:
    """One kind of row to remove.

    A row is old whose ``age``, by default its key, is less than ``bound`` gives for the time before which
    rows are old; an index is in its order. ``may_go`` is the condition on top of that.
    """

    name: str
    model: type[BaseModel]
    key: Any
    bound: Callable[[int], Any]
    may_go: Any
    age: Any = None

    def old(self, bound: Any) -> Any:
        """The query for the identifiers of the oldest rows."""
        age = self.age or self.key
        return self.model.select(self.key).where(age < bound).order_by(age).limit(WINDOW)

    def removable(self, bound: Any, limit: Any) -> Any:
        """The query for the identifiers of a batch to remove."""
        query = self.model.select(self.key).where(self.key.in_(self.old(bound)), self.may_go)
        return query.limit(limit)

    @cached_property
    def _search(self) -> Prepared:
        return Prepared(self.removable)

    def remove(self, before: int, limit: int) -> int:
        """Remove one batch, with all that belongs to its rows. Returns how many rows."""
        # Looked for without the lock: when nothing is old, no writer has to wait.
        with reading():
            found = [row[0] for row in self._search.execute(self.bound(before), limit)]
        if not found:
            return 0
        with writing():
            # Looked at again: a delivery may have been scheduled anew in between.
            query = self.model.delete().where(self.key.in_(found), self.may_go)
            return int(query.execute())


def remove_deleted(limit: int) -> int:
    """Remove one batch of the deliveries of deleted webhooks; with the last of them, the webhook.

    Returns how many rows. What has an attempt under way stays until that has ended.
    """
    deleted = Webhook.deleted()
    with reading():
        if not deleted.exists():
            return 0
    is_theirs = Delivery.webhook.in_(deleted) & Delivery.is_idle(clock.now())
    with writing():
        found = Delivery.select(Delivery.id).where(is_theirs).limit(limit)
        if removed := Delivery.delete().where(Delivery.id.in_(found)).execute():
            return int(removed)
        is_empty = ~fn.EXISTS(Delivery.select().where(Delivery.webhook == Webhook.id))
        return int(Webhook.delete().where(Webhook.id.in_(deleted), is_empty).execute())


def _older_than(prefix: str) -> Callable[[int], str]:
    """Identifiers begin with the time of their making."""
    return lambda before: id_bound(prefix, before)


# Attempts go with their delivery.
DELIVERIES = Removal(
    "deliveries", Delivery, Delivery.id, _older_than("dlv"), Delivery.state != IS_PENDING
)
# The history and the idempotency key go with their message.
MESSAGES = Removal(
    "messages",
    Message,
    Message.id,
    _older_than("msg"),
    Message.status.not_in(UNSETTLED),
)
# After its message: the event is what keeps a repeated callback from emitting it again.
EVENTS = Removal(
    "events",
    Event,
    Event.id,
    _older_than("evt"),
    ~fn.EXISTS(Delivery.select().where(Delivery.event == Event.id))
    & ~fn.EXISTS(Message.select().where(Message.id == Event.subject_id)),
)
# A signup keeps the platform's token until it is complete; its link expired long before.
SIGNUPS = Removal("signups", Signup, Signup.id, _older_than("sgn"), Signup.id.is_null(False))
NOTICES = Removal("notices", Notice, Notice.id, _older_than("ntc"), Notice.id.is_null(False))
# Sessions that ended at sign-out are gone already; these ran out, or were left behind.
USER_SESSIONS = Removal(
    "sessions",
    UserSession,
    UserSession.id,
    _older_than("ses"),
    UserSession.id.is_null(False),
)
SIGN_IN_ATTEMPTS = Removal(
    "attempts to sign in",
    SignInAttempt,
    SignInAttempt.id,
    _older_than("sia"),
    SignInAttempt.id.is_null(False),
)
INGESTED_CALLBACKS = Removal(
    "callbacks",
    Callback,
    Callback.id,
    lambda before: before,
    Callback.ingested_at.is_null(False),
    age=Callback.ingested_at,
)

# No operator replayed it in all that time.
SET_ASIDE = Removal(
    "items set aside",
    SetAside,
    SetAside.id,
    _older_than("sa"),
    SetAside.id.is_null(False),
)
