"""Sign-in to the dashboard: the password, then a code if two-factor authentication is on, then the account.

There is no session before the last step. Until then the browser has a token for five minutes, which is
accepted only by the forms for the code and the account (ADR 48). A person with one account skips the choice.
"""

import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from peewee import BigIntegerField

from models import clock
from models.accounts import secret, two_factor
from models.accounts.audit import Audit
from models.accounts.user import OfUser, User, record_attempt
from models.accounts.user_session import CODE, ENDED, SignInAttempt, UserSession
from models.database import writing

PENDING_MS = 5 * 60_000
SIGNED_IN, FAILED, CODE_FAILED = "session.begun", "session.refused", "session.code_refused"


@dataclass(frozen=True)
class Client:
    """The client: its address, its browser in a few words, and the secret of its cookie."""

    address: str
    browser: str = ""
    visitor: str = ""


class Step(StrEnum):
    """What a sign-in still needs."""

    CODE = "code"
    ACCOUNT = "account"


@dataclass(frozen=True)
class Entry:
    """The result of a proof: the token of a session, or that of a pending sign-in, which needs a step."""

    token: str
    needs: Step | None = None


class PendingSignIn(OfUser):
    """A correct password that waits for the code, or since ``proven_at`` for the choice of an account.

    ``digest`` is of its token and of the visitor's cookie together. ``user`` is any user of the person.
    """

    created_at = BigIntegerField()
    proven_at = BigIntegerField(null=True)

    @classmethod
    def begin(cls, user: User, visitor: str, *, is_proven: bool) -> str:
        """Returns its token."""
        token, now = secrets.token_urlsafe(32), clock.now()
        with writing():
            cls.create(
                id=clock.new_id("psi"),
                user=user,
                digest=_bound(token, visitor),
                created_at=now,
                proven_at=now if is_proven else None,
            )
        return token

    @classmethod
    def find(cls, token: str, visitor: str, step: Step) -> Self | None:
        """The pending sign-in of this token and visitor that needs the step, with its user, or None."""
        is_new = cls.created_at > clock.certain() - PENDING_MS
        has_step = cls.proven_at.is_null(step == Step.CODE)
        return cls.find_with_user(cls.digest == _bound(token, visitor), is_new, has_step)

    def finish(self, code: str, client: Client) -> Entry | None:
        """Continue if the code is correct, else None. Raises TooManyAttemptsError."""
        user: User = self.user
        SignInAttempt.begin_proof(user, CODE)
        with writing():
            if not two_factor.accept(user, code):
                record_attempt(User.person(user.email), CODE_FAILED, client.address)
                return None
            if not self.delete_instance():
                return None
            SignInAttempt.forget_proof(user, CODE)
            SignInAttempt.forget(user.email, client.address)
            return _admit(User.admitted(user.email), client)

    def choices(self) -> list[User]:
        """The users that the person can sign in as."""
        return User.admitted(self.user.email)

    def choose(self, user_id: str, client: Client) -> str | None:
        """Begin the session of one of the choices. Returns its token, or None if there is no such choice."""
        with writing():
            chosen = _one_of(self.user, user_id)
            return enter(chosen, client) if chosen and self.delete_instance() else None


def sign_in(email: str, password: str, client: Client) -> Entry | None:
    """Check email and password. Returns None if they are wrong, or the password has expired.

    Raises TooManyAttemptsError.
    """
    is_attacked = SignInAttempt.begin(email, client.address)
    users = User.authenticate(email, password)
    if not users:
        # Write no further rows during an attack, to bound their number.
        if not is_attacked:
            _note_failure(email, client)
        return None
    if users[0].has_two_factor:
        # The attempt counts until the code is correct.
        token = PendingSignIn.begin(users[0], client.visitor, is_proven=False)
        return Entry(token, Step.CODE)
    SignInAttempt.forget(email, client.address)
    return _admit(users, client)


def prove(email: str, password: str, code: str, client: Client) -> list[User]:
    """Check the password of a known person, and the code if two-factor is on, in one step.

    Returns the person's users, also those in suspended accounts. Empty if password or code are wrong, or the
    password has expired. Raises TooManyAttemptsError.
    """
    is_attacked = SignInAttempt.begin(email, client.address)
    users = User.person(email)
    if not users or not users[0].has_password(password) or users[0].has_expired:
        if not is_attacked:
            _note_failure(email, client)
        return []
    if users[0].has_two_factor:
        SignInAttempt.begin_proof(users[0], CODE)
        if not two_factor.accept(users[0], code):
            record_attempt(users, CODE_FAILED, client.address)
            return []
        SignInAttempt.forget_proof(users[0], CODE)
    SignInAttempt.forget(email, client.address)
    return users


def enter(user: User, client: Client, created_at: int | None = None) -> str:
    """Begin a session, or with ``created_at`` continue with an earlier one. Returns its token."""
    with writing():
        Audit.record(user.account_id, SIGNED_IN, by=user.actor(client.address))
        return UserSession.begin(user, client.address, client.browser, created_at)


def switch(session: UserSession, user_id: str, client: Client) -> str | None:
    """Replace a session by one of another user of its person, which ends when the first would have.

    Returns its token, or None if the person has no such user.
    """
    with writing():
        chosen = _one_of(session.user, user_id)
        if chosen is None or not session.close(ENDED):
            return None
        return enter(chosen, client, session.created_at)


def _admit(users: list[User], client: Client) -> Entry | None:
    """The session of the only user, or the choice. None if all accounts were suspended meanwhile."""
    if len(users) == 1:
        return Entry(enter(users[0], client))
    if not users:
        return None
    return Entry(PendingSignIn.begin(users[0], client.visitor, is_proven=True), Step.ACCOUNT)


def _one_of(user: User, user_id: str) -> User | None:
    """The admitted user of the person with this identifier."""
    return next((each for each in User.admitted(user.email) if each.id == user_id), None)


def _note_failure(email: str, client: Client) -> None:
    """Write rows of the audit log, or one without effect: timing does not reveal which emails are known."""
    users = User.person(email)
    if users:
        record_attempt(users, FAILED, client.address)
    else:
        SignInAttempt.pretend()


def _bound(token: str, visitor: str) -> str:
    return secret.digest(f"{token} {visitor}")
