"""Incidents of an account, and the recipients of their notifications: one at the beginning, one at the end.

A row with a notification to send is due at ``due_at``. A claim moves this to the end of its lease.
"""

import json
import uuid
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, Self

from peewee import SQL, BigIntegerField, Case, ForeignKeyField, IntegerField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Account, Owned
from models.clock import new_id
from models.database import BaseModel, reading, writing

# As a literal, because SQLite uses a partial index only for a condition it can read.
IS_OPEN = SQL("ended_at IS NULL")


class IncidentKind(StrEnum):
    WEBHOOK_FAILING = "webhook_failing"
    WEBHOOK_DISABLED = "webhook_disabled"
    NUMBER_DISCONNECTED = "number_disconnected"
    NUMBER_BANNED = "number_banned"
    TEMPLATE_REJECTED = "template_rejected"


class AlertTarget(BaseModel):
    """Recipients of an account's notifications: ``emails``, one a line, and a Slack-compatible webhook."""

    account_id: str
    account = ForeignKeyField(Account, primary_key=True, lazy_load=False)
    emails = TextField(default="")
    sealed_url = TextField(null=True)

    @property
    def addresses(self) -> list[str]:
        return str(self.emails).splitlines()

    @property
    def url(self) -> str | None:
        """The incoming webhook, whose address is a secret. Raises SecretUnreadableError."""
        return None if self.sealed_url is None else secret.decrypt(self.sealed_url)

    @classmethod
    def of(cls, account_id: str) -> Self:
        """The account's recipients, if any."""
        return cls.by_id(account_id) or cls(account=account_id)

    @classmethod
    def keep(cls, account_id: str, emails: Sequence[str], url: str | None) -> None:
        """Replace the recipients."""
        values = {
            "emails": "\n".join(emails),
            "sealed_url": None if url is None else secret.encrypt(url),
        }
        with writing():
            cls.insert(account=account_id, **values).on_conflict(
                conflict_target=[cls.account], update=values
            ).execute()

    @classmethod
    def accounts(cls) -> Any:
        """The query for accounts with a recipient."""
        return cls.select(cls.account).where((cls.emails != "") | cls.sealed_url.is_null(False))


class Incident(Owned):
    """Something that is wrong with ``subject``, an identifier, from ``began_at`` to ``ended_at``.

    ``cleared_at`` is when the problem was first absent, before the incident ends. ``told_json`` and
    ``end_told_json`` list the targets that got the first and the second notification. ``tries`` counts the
    claims of the present notification.
    """

    kind = TextField()
    subject = TextField()
    title = TextField()
    detail = TextField()
    path = TextField()
    began_at = BigIntegerField()
    cleared_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)
    told_json = TextField(default="[]")
    end_told_json = TextField(default="[]")
    due_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    lease_token = TextField(null=True)
    error = TextField(null=True)

    @property
    def told(self) -> list[str]:
        return list(json.loads(self.told_json))

    @property
    def end_told(self) -> list[str]:
        return list(json.loads(self.end_told_json))

    @classmethod
    def begin(cls, account_id: str, kind: IncidentKind, subject: str, **words: str) -> None:
        """Open an incident and make it due, unless it is open, in the caller's transaction."""
        now = clock.now()
        cls.create(
            once=True,
            id=new_id("inc"),
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
        with reading():
            return list(cls.select().where(IS_OPEN, cls.account.in_(AlertTarget.accounts())))

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

    @classmethod
    def claim(cls, lease_ms: int) -> Self | None:
        """Claim the longest due incident. If the worker dies, it is due again after a lease."""
        now = clock.shared_now()
        due = cls.select(cls.id).where(cls.due_at <= now).order_by(cls.due_at).limit(1)
        with reading():
            if not due.exists():
                return None
        token = uuid.uuid4().hex
        with writing():
            claimed = cls.update(due_at=now + lease_ms, tries=cls.tries + 1, lease_token=token)
            if not claimed.where(cls.id.in_(due)).execute():
                return None
            found: Self = cls.get(cls.lease_token == token)
            return found

    def note_told(self, targets: Collection[str], due_at: int | None, error: str | None) -> None:
        """Record who was notified. Does nothing if another worker holds the claim."""
        is_begin = self.ended_at is None
        column = Incident.told_json if is_begin else Incident.end_told_json
        # It may have ended in the meantime.
        is_over = ~Incident.ended_at.is_null()
        changes = {
            column: json.dumps(sorted(targets)),
            Incident.due_at: Case(None, [(is_over, clock.now())], due_at) if is_begin else due_at,
            Incident.error: error,
            Incident.lease_token: None,
        }
        with writing():
            is_ours = Incident.lease_token == self.lease_token
            Incident.update(changes).where(Incident.id == self.id, is_ours).execute()


Incident.add_index(
    Incident.account,
    Incident.kind,
    Incident.subject,
    unique=True,
    where=IS_OPEN,
    name="incident_open",
)
Incident.add_index(Incident.due_at, where=SQL("due_at IS NOT NULL"), name="incident_due")
