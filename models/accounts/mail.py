"""Mails that wait for the mail server, and how many an address and an account had in the last day.

Text and subject are deleted once the mail is sent or given up. They are encrypted until then, because a text
may have a link that works once.
"""

from enum import StrEnum
from typing import Any

from peewee import SQL, BigIntegerField, ForeignKeyField, IntegerField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Account, Owned
from models.database import reading, writing
from models.decoded import Decoded
from models.work import Work

PREFIX = "mal"


class Purpose(StrEnum):
    CONFIRMATION = "confirmation"
    TEST = "test"
    SECURITY = "security"
    # Asked for, and not sent because other accounts had mailed the address.
    DROPPED = "dropped"


class Mail(Owned, Work):
    """A mail that the account causes. ``address`` is in lower case."""

    account = ForeignKeyField(Account, lazy_load=False, index=False)
    purpose = TextField()
    address = TextField()
    # Null once the mail is sent or given up.
    sealed_subject = secret.SealedField(null=True)
    subject = Decoded(secret.decrypt, "sealed_subject")
    sealed_text = secret.SealedField(null=True)
    text = Decoded(secret.decrypt, "sealed_text")
    due_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    lease_token = TextField(null=True)
    error = TextField(null=True)

    class Meta:
        indexes = ((("account", "id"), False), (("address", "id"), False))

    @classmethod
    def queue(
        cls, account_id: str, purpose: Purpose, address: str, subject: str, text: str
    ) -> None:
        """Queue a mail, in the caller's transaction."""
        sealed = {"sealed_subject": secret.encrypt(subject), "sealed_text": secret.encrypt(text)}
        cls.note(account_id, purpose, address, due_at=clock.now(), **sealed)

    @classmethod
    def note(cls, account_id: str, purpose: Purpose, address: str, **queued: Any) -> None:
        """Record a mail, so that it counts. Without the columns ``queued`` it is not sent."""
        with writing():
            cls.create(
                id=clock.new_id(PREFIX),
                account=account_id,
                purpose=purpose,
                address=address.lower(),
                **queued,
            )

    @classmethod
    def count(cls, *purposes: Purpose, account_id: str = "", address: str = "") -> int:
        """The mails of the last day with one of these purposes, of an account or to an address, or both."""
        since = clock.id_bound(PREFIX, clock.now() - clock.DAY_MS)
        wanted: list[Any] = [cls.id > since, cls.purpose.in_(purposes)]
        wanted += [cls.account == account_id] if account_id else []
        wanted += [cls.address == address.lower()] if address else []
        with reading():
            return int(cls.select().where(*wanted).count())

    def finish(self, error: str | None = None) -> None:
        """End the claim: the mail is sent, or given up because of an error."""
        self.complete(error=error, sealed_subject=None, sealed_text=None)


Mail.add_index(Mail.due_at, where=SQL("due_at IS NOT NULL"), name="mail_due")
