"""Retention: removes rows that are older than the settings allow, a few in each round of the sweep.

Each batch is a short transaction with a pause after it, so that no other writer waits for long. Unfinished
work stays: pending deliveries and their events, unsettled messages, waiting callbacks.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from peewee import fn

from gateway.settings import get_settings
from models import clock
from models.accounts.api_request import ApiRequest
from models.accounts.audit import Audit
from models.accounts.invitation import Invitation
from models.accounts.known_device import LIFETIME_DAYS, KnownDevice
from models.accounts.mail import Mail
from models.accounts.password import PasswordReset
from models.accounts.sign_in import PendingSignIn
from models.accounts.user_session import SignInAttempt, UserSession
from models.broadcasts.broadcast import Broadcast
from models.broadcasts.recipients_file import RecipientsFile
from models.clock import DAY_MS
from models.database import reading, writing
from models.deliveries.attempt import NARROW, WIDE, AttemptTotal
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.delivery import IS_PENDING, Delivery
from models.deliveries.event import ErasedEvent, Event, EventFloor
from models.deliveries.host import ProvenHost
from models.deliveries.outgoing import Outgoing
from models.deliveries.webhook import MINUTE_MS, Webhook
from models.messages.callback import Callback, SetAside
from models.messages.content import MOST_CONTENT
from models.messages.message import UNSETTLED, Message
from models.messages.search import SearchBlock
from models.numbers.notice import Notice
from models.numbers.signup import Signup
from models.reports.incident import Incident
from models.reports.tally import HOUR_MS, MessageHour

logger = logging.getLogger(__name__)

# Audits need a longer history than messages. The rows are small.
AUDIT_DAYS = 365
BATCH_SIZE = 200
# Of each kind, in one round.
MAX_BATCHES = 10
PAUSE_SECONDS = 0.01
# The old rows that the search for a batch reads. Few of them must stay, so this is enough. It limits the
# search while many rows wait for the removal of others.
WINDOW = 2_000
# Held rows fill that window. So the hold ends, even if a receiver is always behind.
HOLD_MS = DAY_MS


@dataclass(frozen=True)
class Kind:
    """A kind of row that is removed after ``days``, or those of the setting, if ``may_go`` is true.

    The age of a row is that of its identifier, which is ``prefix`` and the time of its creation. With
    ``since`` it is the age of that column, which is null while the row must stay. A row for which ``held``
    is true stays at most HOLD_MS longer. ``note`` gets the rows in the transaction that removes them.
    """

    name: str
    model: Any
    prefix: str
    may_go: tuple[Any, ...] = ()
    days: int | str = "retention_days"
    since: Any = None
    held: Any = None
    note: Callable[[Any], None] | None = None

    def search(self, before: int, limit: int) -> Any:
        """The query for a batch of the rows from before this time."""
        id_ = self.model.id
        age = id_ if self.since is None else self.since
        bound = clock.id_bound(self.prefix, before) if self.since is None else before
        oldest = self.model.select(id_).where(age < bound).order_by(age).limit(WINDOW)
        return self.model.select(id_).where(id_.in_(oldest), *self._may_go(before)).limit(limit)

    def _may_go(self, before: int) -> tuple[Any, ...]:
        if self.held is None:
            return self.may_go
        is_overdue = self.model.id < clock.id_bound(self.prefix, before - HOLD_MS)
        return (*self.may_go, is_overdue | ~self.held)

    def remove(self, before: int, limit: int) -> int:
        """Remove one batch, with all that belongs to its rows. Returns how many rows."""
        # A read without the lock, so that no writer waits if nothing is old.
        with reading():
            found = [row.id for row in self.search(before, limit)]
        if not found:
            return 0
        with writing():
            # The condition is checked again: a delivery may have been scheduled again in between.
            going = self.model.id.in_(found), *self._may_go(before)
            if self.note is not None:
                self.note(self.model.select().where(*going))
            return int(self.model.delete().where(*going).execute())


def _has(model: Any, condition: Any) -> Any:
    return fn.EXISTS(model.select().where(condition))


# A large content is only in its message (models.deliveries.event), and its deliveries need it. A character
# has at most four bytes.
_IS_NEEDED = (fn.LENGTH(Message.body_json) > MOST_CONTENT // 4) & _has(
    Event, (Event.subject_id == Message.id) & _has(Delivery, Delivery.event == Event.id)
)

KINDS = (
    # With their attempts. An accepted bulk redelivery may include any delivery of its webhook.
    Kind(
        "deliveries",
        Delivery,
        "dlv",
        (Delivery.state != IS_PENDING,),
        held=_has(Redelivery, Redelivery.webhook == Delivery.webhook),
    ),
    # With their history.
    Kind("messages", Message, "msg", (Message.status.not_in(UNSETTLED), ~_IS_NEEDED)),
    # After its message, because the event prevents that a repeated callback emits it again.
    Kind(
        "events",
        Event,
        "evt",
        (
            ~_has(Delivery, Delivery.event == Event.id),
            ~_has(Message, Message.id == Event.subject_id),
        ),
        note=EventFloor.note,
    ),
    Kind("ids of erased events", ErasedEvent, "evt", note=EventFloor.note),
    # An incomplete signup has the platform's token. Its link expired long before.
    Kind("signups", Signup, "sgn"),
    Kind("notices", Notice, "ntc"),
    Kind("API requests", ApiRequest, "arq", days="request_log_days"),
    # Release 1.0.0 kept them for a day.
    Kind("ingested callbacks", Callback, "cb", days=0, since=Callback.ingested_at),
    # No operator replayed it within the retention time.
    Kind("items set aside", SetAside, "sa"),
    Kind("incidents", Incident, "inc", (~Incident.ended_at.is_null(),)),
    # A block goes with its first message.
    Kind("blocks of the search index", SearchBlock, "msg"),
    # Sessions last less than a day, and older attempts to sign in no longer count. Sign-out deletes its
    # session.
    Kind("sessions", UserSession, "ses", days=1),
    Kind("attempts to sign in", SignInAttempt, "sia", days=1),
    Kind("sign-ins without their code", PendingSignIn, "psi", days=1),
    Kind("password resets", PasswordReset, "pwr", days=1),
    # A mail counts for a day.
    Kind("mails", Mail, "mal", (Mail.due_at.is_null(),), days=2),
    Kind("known devices", KnownDevice, "dev", days=LIFETIME_DAYS),
    # An invitation expires after a week.
    Kind("invitations", Invitation, "inv", days=7),
    # The next 2xx of a new url proves it again.
    Kind("proven hosts", ProvenHost, "", since=ProvenHost.proven_at),
    Kind("rows of the audit log", Audit, "aud", days=AUDIT_DAYS),
)


def remove_old() -> None:
    """One round: remove the oldest of each kind, at most MAX_BATCHES. The next sweep continues.

    Nothing is removed after a jump of the clock, until it is confirmed.
    """
    if not clock.is_confirmed():
        return
    now = clock.certain()
    for kind in KINDS:
        days = getattr(get_settings(), kind.days) if isinstance(kind.days, str) else kind.days
        _remove(f"old {kind.name}", partial(kind.remove, now - days * DAY_MS))
    _remove("rows of deleted webhooks", remove_deleted)
    _remove("rows of expired files", partial(RecipientsFile.remove_expired, now))
    # Of the totals by time, one step in each round is enough to keep up.
    before = now - get_settings().retention_days * DAY_MS
    _remove("rows of old broadcasts", partial(Broadcast.remove_old, before))
    # The messages of that day may still be on their way out.
    _remove_oldest(MessageHour.hour, (before - DAY_MS) // HOUR_MS)
    for width, end in ((WIDE, before), (NARROW, now - 2 * WIDE)):
        _remove_oldest(AttemptTotal.start, end, AttemptTotal.width == width)
    # Only the current minute counts.
    _remove_oldest(Outgoing.minute, now // MINUTE_MS - 1)


def _remove_oldest(start: Any, before: int, *which: Any) -> None:
    """Remove the totals with the least ``start``, a column, if that is before ``before``."""
    with reading():
        oldest = start.model.select(fn.MIN(start)).where(start < before, *which).scalar()
    if oldest is not None:
        with writing():
            start.model.delete().where(start == oldest, *which).execute()


def _remove(what: str, remove: Callable[[int], int]) -> None:
    removed = 0
    for _ in range(MAX_BATCHES):
        batch = remove(BATCH_SIZE)
        removed += batch
        if batch < BATCH_SIZE:
            break
        # Lets other writers in between two batches.
        time.sleep(PAUSE_SECONDS)
    if removed:
        logger.info("%d %s removed", removed, what)


def remove_deleted(limit: int) -> int:
    """Remove one batch of the deliveries of deleted webhooks; with the last of them, the webhook.

    Returns how many rows. A delivery with a running attempt stays until the attempt has ended.
    """
    deleted = Webhook.deleted()
    with reading():
        if not deleted.exists():
            return 0
    is_theirs = Delivery.webhook.in_(deleted) & Delivery.is_idle()
    with writing():
        found = Delivery.select(Delivery.id).where(is_theirs).limit(limit)
        if removed := Delivery.delete().where(Delivery.id.in_(found)).execute():
            return int(removed)
        is_empty = ~_has(Delivery, Delivery.webhook == Webhook.id)
        return int(Webhook.delete().where(Webhook.id.in_(deleted), is_empty).execute())
