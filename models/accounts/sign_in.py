"""Sign-in to the dashboard: password first, then a code if two-factor authentication is on.

There is no session before the code. Until then the browser has a token for five minutes, which is accepted
only by the form for the code (ADR 48).
"""

import secrets
from dataclasses import dataclass
from typing import Self

from peewee import BigIntegerField

from models import clock
from models.accounts import secret, two_factor
from models.accounts.audit import Audit
from models.accounts.user import OfUser, User
from models.accounts.user_session import CODE, SignInAttempt, UserSession
from models.database import writing

PENDING_MS = 5 * 60_000
SIGNED_IN, FAILED, CODE_FAILED = "session.begun", "session.refused", "session.code_refused"


@dataclass(frozen=True)
class Client:
    """The client: its address, its browser in a few words, and the secret of its cookie."""

    address: str
    browser: str = ""
    visitor: str = ""


@dataclass(frozen=True)
class Entry:
    """The result of a correct password: a session, or the form for the code."""

    token: str
    needs_code: bool


class PendingSignIn(OfUser):
    """A correct password of a user with two-factor authentication, waiting for the code.

    ``digest`` is of its token and of the visitor's cookie together.
    """

    created_at = BigIntegerField()

    @classmethod
    def begin(cls, user: User, visitor: str) -> str:
        """Returns its token."""
        token = secrets.token_urlsafe(32)
        with writing():
            cls.create(
                id=clock.new_id("psi"),
                user=user,
                digest=_bound(token, visitor),
                created_at=clock.now(),
            )
        return token

    @classmethod
    def find(cls, token: str, visitor: str) -> Self | None:
        """The pending sign-in of this token and visitor, with its user, or None."""
        is_new = cls.created_at > clock.certain() - PENDING_MS
        return cls.find_with_user(cls.digest == _bound(token, visitor), is_new)

    def finish(self, code: str, client: Client) -> str | None:
        """Begin the session if the code is correct. Returns its token.

        Raises TooManyAttemptsError.
        """
        user: User = self.user
        SignInAttempt.begin_proof(user, CODE)
        with writing():
            if not two_factor.accept(user, code):
                Audit.note(user, CODE_FAILED, client.address)
                return None
            if not self.delete_instance():
                return None
            SignInAttempt.forget_proof(user, CODE)
            SignInAttempt.forget(user.email, client.address)
            return enter(user, client)


def sign_in(email: str, password: str, client: Client) -> Entry | None:
    """Check email and password. Returns None if they are wrong.

    Raises TooManyAttemptsError.
    """
    is_attacked = SignInAttempt.begin(email, client.address)
    user = User.authenticate(email, password)
    if user is None:
        # Write no further rows during an attack, to bound their number.
        if not is_attacked:
            _note_failure(email, client)
        return None
    if user.has_two_factor:
        # The attempt counts until the code is correct.
        return Entry(PendingSignIn.begin(user, client.visitor), needs_code=True)
    SignInAttempt.forget(email, client.address)
    return Entry(enter(user, client), needs_code=False)


def enter(user: User, client: Client) -> str:
    """Begin a session. Returns its token."""
    with writing():
        Audit.note(user, SIGNED_IN, client.address)
        return UserSession.begin(user, client.address, client.browser)


def _note_failure(email: str, client: Client) -> None:
    """Write a row of the audit log. An unknown email costs the same, so timing does not reveal known ones."""
    user = User.find(email)
    if user is None:
        SignInAttempt.pretend()
    else:
        Audit.note(user, FAILED, client.address)


def _bound(token: str, visitor: str) -> str:
    return secret.digest(f"{token} {visitor}")
