"""Users: people who sign in to the dashboard. Each belongs to one account.

Passwords are stored as argon2id hashes with the first parameters of OWASP's password storage cheat sheet:
19 MiB, 2 passes, 1 lane.
"""

import re
import secrets
import threading
from enum import StrEnum
from typing import Any, Self

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.accounts.account import Account, Owned
from models.database import BaseModel, reading, writing

MIN_PASSWORD, MAX_PASSWORD = 12, 1024
# Text without blanks around one at sign. Whether mail arrives there is unknown.
EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# The hash of a random password: checking an unknown user takes as long as checking a known one.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$UliTmA7UkcGZhohD1xlwAw$NZMR2QvtGrflVCxDzX4Hr+KyH40HVpdezJViL8AfjUE"
# The most hashes at the same time: each takes memory and a core.
_slots = threading.BoundedSemaphore(4)


class Role(StrEnum):
    """The role of a user in the dashboard. Each view of the dashboard states its roles."""

    OWNER = "owner"
    DEVELOPER = "developer"
    AGENT = "agent"
    VIEWER = "viewer"


class EmailTakenError(Exception):
    """A user with this email exists already."""


class LastOwnerError(Exception):
    """The account would be left without an owner."""


class User(Owned):
    """A user. ``email`` is kept in lower case, so that it is unique regardless of case.

    ``sealed_totp`` is the secret of two-factor authentication, which is on since ``totp_since``, or in set-up
    while that is null. Codes of ``totp_step`` and earlier steps are refused.
    """

    email = TextField(unique=True)
    password_hash = TextField()
    created_at = BigIntegerField()
    role = TextField(default=Role.OWNER)
    signed_in_at = BigIntegerField(null=True)
    sealed_totp = TextField(null=True)
    totp_since = BigIntegerField(null=True)
    totp_step = BigIntegerField(default=0)

    @classmethod
    def enrol(cls, account: Account, email: str, password: str, role: Role = Role.OWNER) -> Self:
        """Create a user. Raises EmailTakenError."""
        # Hash before the transaction, so that no writer waits for it.
        return cls.enrol_hashed(account, email, hash_password(password), role)

    @classmethod
    def enrol_hashed(cls, account: Account, email: str, hashed: str, role: Role) -> Self:
        """Create a user with the hash of a password. Raises EmailTakenError."""
        with writing():
            if cls.find(email) is not None:
                raise EmailTakenError(email)
            return cls.create(
                id=clock.new_id("usr"),
                account=account,
                email=normalise(email),
                password_hash=hashed,
                created_at=clock.now(),
                role=role,
            )

    @classmethod
    def find(cls, email: str) -> Self | None:
        with reading():
            return cls.get_or_none(cls.email == normalise(email))

    @classmethod
    def authenticate(cls, email: str, password: str) -> Self | None:
        """The user with this password, or None. A wrong password takes the same time.

        Users of a suspended account are refused.
        """
        user = cls.find(email)
        if not _is_hash_of(password, user.password_hash if user else _NOBODY):
            return None
        return user if user and Account.get_by_id(user.account_id).suspended_at is None else None

    @classmethod
    def owners(cls, account_id: str) -> list[Self]:
        """The owners of the account, oldest first."""
        return [user for user in cls.all(account_id) if user.role == Role.OWNER]

    def has_password(self, password: str) -> bool:
        return _is_hash_of(password, self.password_hash)

    @property
    def has_two_factor(self) -> bool:
        return self.totp_since is not None

    def become(self, role: Role) -> None:
        """Set another role, effective from the next request. Raises LastOwnerError."""
        with writing():
            if role != Role.OWNER:
                self._leave_an_owner()
            self.amend(role=role)

    def dismiss(self) -> None:
        """Remove the user like ``remove``. Raises LastOwnerError."""
        with writing():
            self._leave_an_owner()
            self.remove()

    def remove(self) -> None:
        """Remove the user, which ends their sessions."""
        with writing():
            self.delete_instance()

    def _leave_an_owner(self) -> None:
        # Read inside the transaction: if two owners remove each other at the same time, one stays.
        if [owner.id for owner in self.owners(self.account_id)] == [self.id]:
            raise LastOwnerError(self.email)


class OfUser(BaseModel):
    """A row that is deleted with its user. ``digest`` is of a secret that only the user has."""

    user_id: str
    id = TextField(primary_key=True)
    user = ForeignKeyField(User, on_delete="CASCADE")
    digest = TextField(unique=True)

    @classmethod
    def find_with_user(cls, *conditions: Any) -> Self | None:
        """The row that meets the conditions, with its user and account. None if the account is suspended."""
        query = cls.select(cls, User, Account).join(User).join(Account)
        with reading():
            found: Self | None = query.where(*conditions, Account.suspended_at.is_null()).first()
            return found

    @classmethod
    def end_all(cls, user: User, but: str | None = None) -> None:
        """Delete the user's rows, except the one with this identifier if given."""
        with writing():
            cls.delete().where(cls.user == user.id, cls.id != (but or "")).execute()


def normalise(email: str) -> str:
    """An email in the form that is stored and compared."""
    return email.strip().lower()


def new_password() -> str:
    """A password of 24 characters to hand out."""
    return secrets.token_urlsafe(18)


def hash_password(password: str) -> str:
    with _slots:
        return _hasher.hash(_bytes(password))


def _is_hash_of(password: str, hashed: str) -> bool:
    try:
        with _slots:
            # Longer passwords are refused: hashing a megabyte would waste CPU.
            return _hasher.verify(hashed, _bytes(password[: MAX_PASSWORD + 1]))
    except VerifyMismatchError:
        return False


def _bytes(password: str) -> bytes:
    # A form or a terminal may send any text, even a lone surrogate.
    return password.encode("utf-8", "surrogatepass")
