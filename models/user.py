"""Users: people who sign in to the dashboard, each for one account.

Passwords are kept as argon2id hashes with the parameters that OWASP's password storage cheat sheet names
first: 19 MiB, 2 passes, 1 lane.
"""

import secrets
import threading
from typing import Self

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from peewee import BigIntegerField, TextField

from models import clock
from models.account import Account, Owned
from models.clock import new_id
from models.database import reading, writing

MIN_PASSWORD, MAX_PASSWORD = 12, 1024
_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
# Of a random password that nobody knows: the check of an unknown user takes as long as that of a known one.
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$UliTmA7UkcGZhohD1xlwAw$NZMR2QvtGrflVCxDzX4Hr+KyH40HVpdezJViL8AfjUE"
# Each hash takes memory and a core for a while. So many at once are enough, however many ask.
_slots = threading.BoundedSemaphore(4)


class EmailTakenError(Exception):
    """A user with this email exists already."""


class User(Owned):
    """A user. ``email`` is kept in lower case, so that it is unique regardless of case."""

    email = TextField(unique=True)
    password_hash = TextField()
    created_at = BigIntegerField()

    @classmethod
    def enrol(cls, account: Account, email: str, password: str) -> Self:
        """Create a user. Raises EmailTakenError."""
        # Hashed before the transaction, so that no other writer waits for it.
        hashed = hash_password(password)
        with writing():
            if cls.find(email) is not None:
                raise EmailTakenError(email)
            return cls.create(
                id=new_id("usr"),
                account=account,
                email=normalise(email),
                password_hash=hashed,
                created_at=clock.now(),
            )

    @classmethod
    def find(cls, email: str) -> Self | None:
        with reading():
            return cls.get_or_none(cls.email == normalise(email))

    @classmethod
    def authenticate(cls, email: str, password: str) -> Self | None:
        """The user whose password this is, or None, after the same work for each wrong one.

        No user of a suspended account is.
        """
        user = cls.find(email)
        try:
            with _slots:
                _hasher.verify(user.password_hash if user else _NOBODY, _bytes(password))
        except VerifyMismatchError:
            return None
        return user if user and Account.get_by_id(user.account_id).suspended_at is None else None

    def remove(self) -> None:
        """Remove the user, and so end their sessions."""
        with writing():
            self.delete_instance()


def normalise(email: str) -> str:
    """An email as it is kept and compared."""
    return email.strip().lower()


def new_password() -> str:
    """A password of 24 characters to hand out."""
    return secrets.token_urlsafe(18)


def hash_password(password: str) -> str:
    with _slots:
        return _hasher.hash(_bytes(password))


def _bytes(password: str) -> bytes:
    # A form or a terminal may deliver any text, a lone surrogate included.
    return password.encode("utf-8", "surrogatepass")
