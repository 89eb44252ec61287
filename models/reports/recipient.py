"""The link with which the owner of an address accepts the notifications of an account, and ends them.

``AlertTarget`` has the addresses that get mail: those whose owners accepted. An address of before this table
has accepted too, and gets its link with its next notification.
"""

import secrets
from collections.abc import Collection
from typing import Self

from peewee import BigIntegerField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Owned
from models.database import fetch, writing
from models.decoded import Decoded

# A link in a mail that was asked for earlier confirms nothing. It still ends notifications.
LIFETIME_MS = 7 * 24 * 3_600_000


class Recipient(Owned):
    """An address of an account, in lower case. It waits for its owner, has accepted, or has unsubscribed."""

    email = TextField()
    digest = TextField(unique=True)
    # For the link in each mail.
    sealed_token = secret.SealedField()
    token = Decoded(secret.decrypt, "sealed_token")
    asked_at = BigIntegerField()
    confirmed_at = BigIntegerField(null=True)
    unsubscribed_at = BigIntegerField(null=True)

    class Meta:
        indexes = ((("account", "email"), True),)

    @property
    def is_waiting(self) -> bool:
        return self.confirmed_at is None and self.unsubscribed_at is None

    @property
    def may_confirm(self) -> bool:
        """Whether the owner may accept with the link."""
        is_recent = self.asked_at > clock.certain() - LIFETIME_MS
        return self.confirmed_at is not None or (self.is_waiting and is_recent)

    @classmethod
    def of(cls, account_id: str) -> list[Self]:
        """The account's addresses that have a link, in alphabetical order."""
        return fetch(cls.select().where(cls.account == account_id).order_by(cls.email))

    @classmethod
    def enter(cls, account_id: str, email: str, confirmed_at: int | None = None) -> Self:
        """The row of an address. A new one has accepted, if ``confirmed_at`` is given."""
        is_it = cls.account == account_id, cls.email == email.lower()
        found: list[Self] = fetch(cls.select().where(*is_it))
        if found:
            return found[0]
        token = secrets.token_urlsafe(32)
        with writing():
            cls.create(
                once=True,
                id=clock.new_id("rcp"),
                account=account_id,
                email=email.lower(),
                digest=secret.digest(token),
                sealed_token=secret.encrypt(token),
                asked_at=clock.now(),
                confirmed_at=confirmed_at,
            )
            return cls.get(*is_it)

    @classmethod
    def find(cls, token: str) -> Self | None:
        """The row of a link, with its account, or None."""
        return cls.with_account(cls.digest == secret.digest(token))

    @classmethod
    def retain(cls, account_id: str, emails: Collection[str]) -> None:
        """Delete the account's rows of all other addresses."""
        with writing():
            cls.delete().where(cls.account == account_id, cls.email.not_in(list(emails))).execute()
