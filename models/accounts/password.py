"""New passwords, set by a single-use link or by the user. A new password ends the person's old sessions.

A link is stored like an invitation (models.accounts.invitation).
"""

from typing import Self

from peewee import BigIntegerField

from models import clock
from models.accounts import secret
from models.accounts.invitation import spend
from models.accounts.sign_in import PendingSignIn
from models.accounts.user import (
    OfUser,
    User,
    password_values,
    record_attempt,
    record_of_person,
)
from models.accounts.user_session import UserSession
from models.database import writing

LIFETIME_MS = 24 * 3_600_000
CHANGED, RESET = "user.password_changed", "user.password_reset"


class PasswordReset(OfUser):
    """A link to choose another password."""

    expires_at = BigIntegerField()

    @classmethod
    def open(cls, user: User) -> str:
        """Replace the person's link with a new one. Returns its token, which is for their mailbox alone."""
        with writing():
            cls.end_all(user)
            return cls.issue("pwr", user, expires_at=clock.now() + LIFETIME_MS)

    @classmethod
    def find(cls, token: str) -> Self | None:
        """The open link with its user, or None."""
        return cls.find_with_user(
            cls.digest == secret.digest(token), cls.expires_at > clock.certain()
        )

    def use(self, hashed: str, address: str) -> User:
        """Set the password of this hash, and end every session of the person. Raises LinkClosedError."""
        user: User = self.user
        with writing():
            spend(self, self.expires_at)
            _replace(user, hashed)
            record_attempt(User.person(user.email), RESET, address)
        return user


def replace_password(
    user: User, hashed: str, keep: str | None = None, *, is_initial: bool = False
) -> None:
    """Set the password of this hash for the person, and end all sessions but the one to keep.

    One that ``is_initial`` expires.
    """
    with writing():
        _replace(user, hashed, keep, is_initial=is_initial)
        record_of_person(user, CHANGED, RESET)


def _replace(user: User, hashed: str, keep: str | None = None, *, is_initial: bool = False) -> None:
    user.amend_person(**password_values(hashed, is_initial=is_initial))
    UserSession.end_all(user, keep)
    PendingSignIn.end_all(user)
    PasswordReset.end_all(user)
