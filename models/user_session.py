"""Sessions of the dashboard, and how one begins: a random token in the browser, its digest here."""

import secrets
from typing import Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock, secret
from models.account import Account
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.sign_in_attempt import SignInAttempt
from models.user import MAX_PASSWORD, User, hash_password

LIFETIME_MS = 12 * 3_600_000
IDLE_MS = 2 * 3_600_000
# Its last use is noted to the minute: looking at a page should rarely write.
USE_GRANULARITY_MS = 60_000


class UserSession(BaseModel):
    """A session. It ends 12 h after it began, after 2 h without use, or when its row is removed.

    While the account is suspended, it opens nothing.
    """

    user_id: str
    id = TextField(primary_key=True)
    user = ForeignKeyField(User, on_delete="CASCADE")
    digest = TextField(unique=True)
    created_at = BigIntegerField()
    last_used_at = BigIntegerField()

    @classmethod
    def begin(cls, user: User) -> str:
        """Begin a session. Returns its token, which cannot be had again."""
        token, now = secrets.token_urlsafe(32), clock.now()
        with writing():
            cls.create(
                id=new_id("ses"),
                user=user,
                digest=secret.digest(token),
                created_at=now,
                last_used_at=now,
            )
        return token

    @classmethod
    def resume(cls, token: str) -> Self | None:
        """The session that the token opens, with its user and account, or None when it has ended."""
        now = clock.now()
        query = cls.select(cls, User, Account).join(User).join(Account)
        with reading():
            session: Self | None = query.where(
                cls.digest == secret.digest(token),
                cls.created_at > now - LIFETIME_MS,
                cls.last_used_at > now - IDLE_MS,
                Account.suspended_at.is_null(),
            ).first()
        if session is not None and now - session.last_used_at >= USE_GRANULARITY_MS:
            session.amend(last_used_at=now)
        return session

    @classmethod
    def end(cls, token: str) -> None:
        with writing():
            cls.delete().where(cls.digest == secret.digest(token)).execute()


def sign_in(email: str, password: str, address: str) -> str | None:
    """Begin a session. Returns its token, or None if email and password do not belong together.

    Raises TooManyAttemptsError.
    """
    SignInAttempt.begin(email, address)
    # No password is longer, and hashing a megabyte would waste CPU.
    user = User.authenticate(email, password[: MAX_PASSWORD + 1])
    if user is None:
        return None
    SignInAttempt.forget(email, address)
    return UserSession.begin(user)


def change_password(user: User, password: str) -> None:
    """Set another password, and end every session that the old one began."""
    hashed = hash_password(password)
    with writing():
        user.amend(password_hash=hashed)
        UserSession.delete().where(UserSession.user == user.id).execute()
