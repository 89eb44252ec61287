"""Links that let one person in once: an invitation to an account, and a new password for a user.

The database has only the SHA-256 of a link's token, which is 32 random bytes. Using a link removes its row,
and of two uses at the same time only one finds the row.
"""

import secrets
from typing import Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock, secret
from models.account import Account, Owned
from models.audit import Audit
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.sign_in import replace_password
from models.user import EmailTakenError, Role, User, hash_password, normalise

DAY_MS = 24 * 3_600_000
INVITATION_MS, RESET_MS = 7 * DAY_MS, DAY_MS
ACCEPTED, RESET = "invitation.accepted", "user.password_reset"


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
        """Invite a person, in place of an earlier invitation of theirs. Returns its token as well.

        Raises EmailTakenError if the account has this user already.
        """
        token, now, email = secrets.token_urlsafe(32), clock.now(), normalise(email)
        with writing():
            known = User.find(email)
            if known is not None and known.account_id == account.id:
                raise EmailTakenError(email)
            cls.delete().where(cls.account == account.id, cls.email == email).execute()
            row = cls.create(
                id=new_id("inv"),
                account=account,
                email=email,
                role=role,
                digest=secret.digest(token),
                created_at=now,
                expires_at=now + INVITATION_MS,
            )
        return row, token

    @classmethod
    def find(cls, token: str) -> Self | None:
        """The open invitation with its account, or None."""
        query = cls.select(cls, Account).join(Account)
        with reading():
            found: Self | None = query.where(
                cls.digest == secret.digest(token),
                cls.expires_at > clock.now(),
                Account.suspended_at.is_null(),
            ).first()
        return found

    @classmethod
    def pending(cls, account_id: str) -> list[Self]:
        """The account's invitations that are open, newest first."""
        is_open = (cls.account == account_id) & (cls.expires_at > clock.now())
        with reading():
            return list(cls.select().where(is_open).order_by(cls.id.desc()))

    def accept(self, password: str, address: str) -> User:
        """Create the user. Raises LinkClosedError, or EmailTakenError if another account has the user."""
        hashed = hash_password(password)
        with writing():
            _spend(self, self.expires_at)
            user = User.enrol_hashed(self.account, self.email, hashed, Role(self.role))
            Audit.note(user, ACCEPTED, address, user.id, role=self.role)
        return user

    def withdraw(self) -> None:
        """Close it."""
        with writing():
            self.delete_instance()


class PasswordReset(BaseModel):
    """A link with which a user chooses another password."""

    id = TextField(primary_key=True)
    user = ForeignKeyField(User, on_delete="CASCADE")
    digest = TextField(unique=True)
    expires_at = BigIntegerField()

    @classmethod
    def open(cls, user: User) -> str:
        """A new link in place of an earlier one. Returns its token."""
        token = secrets.token_urlsafe(32)
        with writing():
            cls.delete().where(cls.user == user.id).execute()
            cls.create(
                id=new_id("pwr"),
                user=user,
                digest=secret.digest(token),
                expires_at=clock.now() + RESET_MS,
            )
        return token

    @classmethod
    def find(cls, token: str) -> Self | None:
        """The open link with its user, or None."""
        query = cls.select(cls, User, Account).join(User).join(Account)
        with reading():
            found: Self | None = query.where(
                cls.digest == secret.digest(token),
                cls.expires_at > clock.now(),
                Account.suspended_at.is_null(),
            ).first()
        return found

    def use(self, password: str, address: str) -> User:
        """Set the password, and end every session of the user. Raises LinkClosedError."""
        user: User = self.user
        hashed = hash_password(password)
        with writing():
            _spend(self, self.expires_at)
            replace_password(user, hashed)
            Audit.note(user, RESET, address, user.id)
        return user


def _spend(link: BaseModel, expires_at: int) -> None:
    """Remove the row of a link, inside the caller's transaction. Raises LinkClosedError."""
    if expires_at <= clock.now() or not link.delete_instance():
        raise LinkClosedError
