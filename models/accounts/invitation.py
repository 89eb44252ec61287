"""Invitations: a single-use link with which one person joins an account.

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
from models.accounts.user import EmailTakenError, Role, User, hash_password, normalise
from models.database import BaseModel, fetch, reading, writing

LIFETIME_MS = 7 * 24 * 3_600_000
ACCEPTED = "invitation.accepted"


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
        """Invite a person and replace an earlier invitation. Also returns the token.

        Raises EmailTakenError if the account has this user already.
        """
        token, now, email = secrets.token_urlsafe(32), clock.now(), normalise(email)
        with writing():
            known = User.find(email)
            if known is not None and known.account_id == account.id:
                raise EmailTakenError(email)
            cls.delete().where(cls.account == account.id, cls.email == email).execute()
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
        query = cls.select(cls, Account).join(Account)
        with reading():
            found: Self | None = query.where(
                cls.digest == secret.digest(token),
                cls.expires_at > clock.certain(),
                Account.suspended_at.is_null(),
            ).first()
        return found

    @classmethod
    def pending(cls, account_id: str) -> list[Self]:
        """The account's invitations that are open, newest first."""
        is_open = (cls.account == account_id) & (cls.expires_at > clock.certain())
        return fetch(cls.select().where(is_open).order_by(cls.id.desc()))

    def accept(self, password: str, address: str) -> User:
        """Create the user. Raises LinkClosedError, or EmailTakenError if another account has the user."""
        hashed = hash_password(password)
        with writing():
            spend(self, self.expires_at)
            user = User.enrol_hashed(self.account, self.email, hashed, Role(self.role))
            Audit.note(user, ACCEPTED, address, user.id, role=self.role)
        return user


def spend(link: BaseModel, expires_at: int) -> None:
    """Remove the row of a link, inside the caller's transaction. Raises LinkClosedError."""
    if expires_at <= clock.certain() or not link.delete_instance():
        raise LinkClosedError
