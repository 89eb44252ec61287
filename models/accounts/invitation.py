"""Invitations: a single-use link with which one person joins an account (services.members).

The database has only the SHA-256 of a link's token, which is 32 random bytes. Using a link removes its row,
so only one of two concurrent uses succeeds.
"""

import secrets
from typing import Self

from peewee import BigIntegerField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Account, Owned
from models.accounts.audit import Audit
from models.accounts.user import EmailTakenError, Role, User, normalise
from models.database import BaseModel, fetch, writing

LIFETIME_MS = 7 * 24 * 3_600_000


class LinkClosedError(Exception):
    """The link was used, withdrawn or has expired."""


class Invitation(Owned):
    """An invitation of ``email`` to an account."""

    email = TextField()
    role = TextField()
    digest = TextField(unique=True)
    created_at = BigIntegerField()
    expires_at = BigIntegerField()

    @classmethod
    def open(cls, account: Account, email: str, role: Role) -> tuple[Self, str]:
        """Invite a person. Also returns the token, which is for their mailbox alone.

        An earlier invitation works until ``replace_earlier``. Raises EmailTakenError if the account has this
        user already.
        """
        token, now, email = secrets.token_urlsafe(32), clock.now(), normalise(email)
        with writing():
            if account.id in {user.account_id for user in User.person(email)}:
                raise EmailTakenError(email)
            row = cls.create(
                id=clock.new_id("inv"),
                account=account,
                email=email,
                role=role,
                digest=secret.digest(token),
                created_at=now,
                expires_at=now + LIFETIME_MS,
            )
        return row, token

    @classmethod
    def find(cls, token: str) -> Self | None:
        """The open invitation with its account, or None."""
        is_open = cls.expires_at > clock.certain(), Account.suspended_at.is_null()
        return cls.with_account(cls.digest == secret.digest(token), *is_open)

    @classmethod
    def pending(cls, account_id: str) -> list[Self]:
        """The account's invitations that are open, newest first."""
        is_open = (cls.account == account_id) & (cls.expires_at > clock.certain())
        return fetch(cls.select().where(is_open).order_by(cls.id.desc()))

    def replace_earlier(self) -> None:
        """Close earlier invitations of the person to the account."""
        is_earlier = (Invitation.email == self.email) & (Invitation.id < self.id)
        with writing():
            Invitation.delete().where(Invitation.account == self.account_id, is_earlier).execute()

    @property
    def described(self) -> dict[str, str]:
        """Email and role, for the audit log."""
        return {"email": self.email, "role": self.role}

    def withdraw(self) -> None:
        with writing():
            if self.delete_instance():
                Audit.record(
                    self.account_id, "invitation.withdrawn", self.id, before=self.described
                )


def spend(link: BaseModel, expires_at: int) -> None:
    """Remove the row of a link, inside the caller's transaction. Raises LinkClosedError."""
    if expires_at <= clock.certain() or not link.delete_instance():
        raise LinkClosedError
