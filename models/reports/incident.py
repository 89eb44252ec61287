"""Incidents of an account, and the recipients of their notifications: one at the beginning, one at the end.

A row is due at ``due_at`` if it has a notification to send (models.work).
"""

import json
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, Self
from urllib.parse import urlsplit

from peewee import SQL, BigIntegerField, Case, ForeignKeyField, IntegerField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Account, Owned
from models.accounts.audit import Audit
from models.database import BaseModel, database_time, fetch, writing
from models.decoded import Decoded
from models.work import Work

# As a literal, because SQLite uses a partial index only for a condition it can read.
IS_OPEN = SQL("ended_at IS NULL")


class IncidentKind(StrEnum):
    WEBHOOK_FAILING = "webhook_failing"
    WEBHOOK_DISABLED = "webhook_disabled"
    NUMBER_DISCONNECTED = "number_disconnected"
    NUMBER_BANNED = "number_banned"
    NUMBER_CALLBACKS = "number_callbacks"
    TEMPLATE_REJECTED = "template_rejected"
    BROADCAST_PAUSED = "broadcast_paused"


class AlertTarget(BaseModel):
    """Recipients of an account's notifications: ``emails``, one a line, and a Slack-compatible webhook.

    The owners of these addresses accepted (models.reports.recipient).
    """

    account_id: str
    account = ForeignKeyField(Account, primary_key=True, lazy_load=False)
    emails = TextField(default="")
    addresses = Decoded(str.splitlines, "emails")
    sealed_url = secret.SealedField(null=True)

    @property
    def url(self) -> str | None:
        """The incoming webhook, whose address is a secret. Raises SecretUnreadableError."""
        return None if self.sealed_url is None else secret.decrypt(self.sealed_url)

    @classmethod
    def of(cls, account_id: str) -> Self:
        """The account's recipients, if any."""
        return cls.by_id(account_id) or cls(account=account_id)

    @classmethod
    def record(cls, account_id: str, emails: Sequence[str], url: str | None) -> None:
        """Replace the recipients."""
        with writing():
            sealed_url = None if url is None else secret.encrypt(url)
            cls.of(account_id).mail_to(emails, sealed_url=sealed_url)

    def mail_to(self, emails: Sequence[str], **others: str | None) -> None:
        """Replace the addresses, and ``others``, which are columns, in the caller's transaction."""
        changes = {"emails": "\n".join(emails), **others}
        insert = AlertTarget.insert(account=self.account_id, **changes)
        insert.on_conflict(conflict_target=[AlertTarget.account], update=changes).execute()
        new = AlertTarget.of(self.account_id)
        # Of an incoming webhook only the host is no secret.
        before, after = (
            {"emails": each.addresses, "webhookHost": urlsplit(_url(each) or "").hostname}
            for each in (self, new)
        )
        if _url(self) != _url(new):
            after["webhook"] = "changed" if new.sealed_url else "removed"
        action, subject = "account.notifications_changed", self.account_id
        Audit.record(self.account_id, action, subject, before=before, after=after)

    @classmethod
    def accounts(cls) -> Any:
        """The query for accounts with a recipient."""
        return cls.select(cls.account).where((cls.emails != "") | cls.sealed_url.is_null(False))


def _url(target: AlertTarget) -> str | None:
    try:
        return target.url
    except secret.SecretUnreadableError:
        return None


class Incident(Owned, Work):
    """Something that is wrong with ``subject``, an identifier, from ``began_at`` to ``ended_at``.

    ``cleared_at`` is when the problem was first absent, before the incident ends. ``notified_json`` and
    ``end_notified_json`` list the targets that got the first and the second notification. ``tries`` counts
    the claims of the present notification.
    """

    kind = TextField()
    subject = TextField()
    title = TextField()
    detail = TextField()
    path = TextField()
    began_at = BigIntegerField()
    cleared_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    notified_json = TextField(default="[]", column_name="told_json")
    notified = Decoded(json.loads, "notified_json")
    end_notified_json = TextField(default="[]", column_name="end_told_json")
    end_notified = Decoded(json.loads, "end_notified_json")
    due_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    lease_token = TextField(null=True)
    error = TextField(null=True)

    @classmethod
    def begin(cls, account_id: str, kind: IncidentKind, subject: str, **words: str) -> None:
        """Open an incident and make it due, unless it is open, in the caller's transaction."""
        now = clock.now()
        cls.create(
            once=True,
            id=clock.new_id("inc"),
            account=account_id,
            kind=kind,
            subject=subject,
            began_at=now,
            due_at=now,
            **words,
        )

    @classmethod
    def open(cls) -> list[Self]:
        """Open incidents of accounts with a recipient."""
        return fetch(cls.select().where(IS_OPEN, cls.account.in_(AlertTarget.accounts())))

    def end(self) -> None:
        """End the incident, in the caller's transaction. Those who got its first notification get a second.

        If a worker is sending the first one now, it records its recipients before the second is due.
        """
        now = clock.now()
        due_at = Case(None, [(Incident.lease_token.is_null(), now)], Incident.due_at)
        changes = {"ended_at": now, "due_at": due_at, "tries": 0, "error": None}
        Incident.update(changes).where(Incident.id == self.id, IS_OPEN).execute()

    def clear(self, at: int | None) -> None:
        """Record since when the problem has been gone, None if it is back, in the caller's transaction."""
        Incident.update(cleared_at=at).where(Incident.id == self.id).execute()

    def record_notified(
        self, targets: Collection[str], pause_ms: int | None, error: str | None
    ) -> None:
        """Record who was notified, and back off, or be done without a pause.

        Does nothing if another worker holds the claim.
        """
        due_at = None if pause_ms is None else database_time(clock.now()) + pause_ms
        column = "end_notified_json"
        if self.ended_at is None:
            column = "notified_json"
            # It may have ended in the meantime.
            due_at = Case(None, [(Incident.ended_at.is_null(False), clock.now())], due_at)
        self.complete(due_at, error=error, **{column: json.dumps(sorted(targets))})


Incident.add_index(
    Incident.account,
    Incident.kind,
    Incident.subject,
    unique=True,
    where=IS_OPEN,
    name="incident_open",
)
Incident.add_index(Incident.due_at, where=SQL("due_at IS NOT NULL"), name="incident_due")
