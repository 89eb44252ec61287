"""Sessions of the dashboard, and the limits of sign-in attempts and of mails to strangers (ADR 48).

Failed and running attempts to sign in count for the client's address, for the email, and for the pair. All
are stored as digests, because people type secrets into the wrong field. An address is refused for its own
attempts only, so attempts from other addresses cannot lock a user out.
"""

import math
import secrets
from collections.abc import Iterable
from typing import Any, Self

from peewee import BigIntegerField, TextField, fn

from models import clock
from models.accounts import secret
from models.accounts.account import Account
from models.accounts.actor import present_actor
from models.accounts.audit import Audit
from models.accounts.client_address import one_client
from models.accounts.user import OfUser, User, normalise
from models.addresses import spellings
from models.database import BaseModel, fetch, writing

LIFETIME_MS = 12 * 3_600_000
IDLE_MS = 30 * 60_000
ENDED = "session.ended"
# The last use is stored to the minute, so that page views rarely write.
USE_GRANULARITY_MS = 60_000
WINDOW_MS = 15 * 60_000
# The most attempts in one window by pair, and by address: many people may share an address.
PAIR_LIMIT, ADDRESS_LIMIT = 5, 30
# With this many attempts from all addresses an email is under attack. Each address then has one attempt:
# guessing gets slower, and the owner with the correct password can still sign in.
ATTACKED_AT, ATTACKED_PAIR_LIMIT = 20, 1
# Keys and invitations need a proof of the user that is younger.
PROOF_MS = 3_600_000
# Attempts of one user from all addresses. Only someone with the password or a session gets this far.
CODE, PASSWORD = "code", "password"
PROOF_LIMIT = 10
# The most mails in a day from one account to one address, and from one account. A limit of an address over
# all accounts would show that others write to it, and let them keep it from being invited.
MAIL_WINDOW_MS = 24 * 3_600_000
MAIL_PAIR_LIMIT, MAIL_ACCOUNT_LIMIT = 3, 50


class TooManyAttemptsError(Exception):
    """The attempt was refused without a check. ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class SignInAttempt(BaseModel):
    """One attempt or mail under one subject: an attempt writes three of these, a mail two."""

    id = TextField(primary_key=True)
    subject = TextField()
    at = BigIntegerField()

    class Meta:
        indexes = ((("subject", "at"), False),)

    @classmethod
    def begin(cls, email: str, address: str) -> bool:
        """Count an attempt before the check, so that parallel attempts cannot bypass the limit.

        Returns whether the email is under attack. Raises TooManyAttemptsError.
        """
        now = clock.now()
        pair, by_email, by_address = _subjects(email, address)
        with writing():
            is_attacked = cls._full_since(by_email, ATTACKED_AT, now) is not None
            cls._count(pair, ATTACKED_PAIR_LIMIT if is_attacked else PAIR_LIMIT, now)
            cls._count(by_address, ADDRESS_LIMIT, now)
            cls.create(id=clock.new_id("sia"), subject=by_email, at=now)
        return is_attacked

    @classmethod
    def begin_proof(cls, user: User, kind: str) -> None:
        """Count an attempt at the CODE or PASSWORD of a known user. Raises TooManyAttemptsError."""
        with writing():
            cls._count(_proof(user, kind), PROOF_LIMIT, clock.now())

    @classmethod
    def forget_proof(cls, user: User, kind: str) -> None:
        """A correct code or password resets the user's count."""
        with writing():
            cls.delete().where(cls.subject == _proof(user, kind)).execute()

    @classmethod
    def begin_mail(cls, account_id: str, email: str) -> None:
        """Count a mail that a user of the account sends to an address. Raises TooManyAttemptsError."""
        now, pair = clock.now(), f"{account_id} {normalise(email)}"
        limits = {f"mail {pair}": MAIL_PAIR_LIMIT, f"mail {account_id}": MAIL_ACCOUNT_LIMIT}
        with writing():
            for subject, limit in limits.items():
                cls._count(secret.digest(subject), limit, now, MAIL_WINDOW_MS)

    @classmethod
    def pretend(cls) -> None:
        """Write a row without effect for an unknown email. It takes the time of Audit.record_each()."""
        row = {"id": clock.new_id("sia"), "subject": secrets.token_hex(32), "at": clock.now()}
        with writing():
            cls.insert_many([row]).execute()

    @classmethod
    def _count(cls, subject: str, limit: int, now: int, window: int = WINDOW_MS) -> None:
        if (since := cls._full_since(subject, limit, now, window)) is not None:
            raise TooManyAttemptsError(math.ceil((since + window - now) / 1000))
        cls.create(id=clock.new_id("sia"), subject=subject, at=now)

    @classmethod
    def _full_since(cls, subject: str, limit: int, now: int, window: int = WINDOW_MS) -> int | None:
        """The time of the first of the last ``limit`` attempts; None if the window has fewer."""
        recent = cls.select(cls.at).where(cls.subject == subject, cls.at > now - window)
        first: int | None = recent.order_by(cls.at.desc()).offset(limit - 1).limit(1).scalar()
        return first

    @classmethod
    def forget(cls, email: str, address: str) -> None:
        """A correct password resets the pair, and does not count for the email and the address."""
        pair, *others = _subjects(email, address)
        with writing():
            cls.delete().where(cls.subject == pair).execute()
            for subject in others:
                newest = cls.select(fn.MAX(cls.id)).where(cls.subject == subject)
                cls.delete().where(cls.id == newest).execute()


def _subjects(email: str, address: str) -> list[str]:
    """The subjects of an attempt: the pair, the email, the address."""
    # Browsers send a domain in ASCII that was typed in another script.
    email, place = spellings(normalise(email))[0], one_client(address)
    parts = f"pair {place} {email}", f"email {email}", f"address {place}"
    return [secret.digest(part) for part in parts]


def _proof(user: User, kind: str) -> str:
    return secret.digest(f"{kind} {user.email}")


class UserSession(OfUser):
    """A session. It ends 12 h after it began, after 30 min without use, or when its row is removed.

    ``digest`` is of the random token in the browser. While the account is suspended, it is refused.
    A session is of one user; to use another account, the person gets another session (sign_in.switch).
    ``address`` and ``browser`` are those of the sign-in. ``proved_at`` is when the user gave the password
    again, null if not since the sign-in.
    """

    created_at = BigIntegerField()
    last_used_at = BigIntegerField()
    address = TextField(default="")
    browser = TextField(default="")
    proved_at = BigIntegerField(null=True)

    @property
    def needs_proof(self) -> bool:
        """Whether the user has to give the password again before a key or an invitation."""
        return clock.now() - (self.proved_at or self.created_at) >= PROOF_MS

    @classmethod
    def begin(
        cls, user: User, address: str = "", browser: str = "", created_at: int | None = None
    ) -> str:
        """Begin a session, or continue with one of another user of the person, which began at ``created_at``.

        Returns its token, which is not stored.
        """
        now = clock.now()
        times = {"created_at": now if created_at is None else created_at, "last_used_at": now}
        with writing():
            user.amend(signed_in_at=now)
            return cls.issue("ses", user, address=address, browser=browser, **times)

    @classmethod
    def resume(cls, token: str) -> Self | None:
        """The session of the token with its user and account, or None if it has ended."""
        now = clock.now()
        session = cls.find_with_user(cls.digest == secret.digest(token), cls._is_open())
        if session is not None and now - session.last_used_at >= USE_GRANULARITY_MS:
            session.amend(last_used_at=now)
        return session

    @classmethod
    def void_among(cls, session_ids: Iterable[str]) -> set[str]:
        """The sessions among these that have ended."""
        given = set(session_ids)
        query = cls.select(cls.id).join(User).join(Account).where(cls.id.in_(list(given)))
        has_proof = Account.two_factor_since.is_null() | ~User.totp_since.is_null()
        valid = query.where(cls._is_open(), has_proof, Account.suspended_at.is_null())
        return given - {row.id for row in fetch(valid)}

    @classmethod
    def _is_open(cls) -> Any:
        now = clock.certain()
        return (cls.created_at > now - LIFETIME_MS) & (cls.last_used_at > now - IDLE_MS)

    @classmethod
    def end(cls, token: str) -> None:
        with writing():
            cls.delete().where(cls.digest == secret.digest(token)).execute()

    def close(self, action: str) -> bool:
        """End this session of the present person. Writes a row of this action. False if it has ended."""
        with writing():
            is_open = bool(self.delete_instance())
            if is_open:
                by = self.user.actor(present_actor.get().address)
                Audit.record(self.user.account_id, action, self.id, by=by)
        return is_open

    @classmethod
    def close_others(cls, user: User, present: str) -> None:
        """End all sessions of the user except the present one."""
        with writing():
            cls.end_all(user, present)
            Audit.record(user.account_id, "session.others_revoked", user.id)

    @classmethod
    def of(cls, user: User) -> list[Self]:
        """The open sessions of the user's person with their accounts, newest first."""
        query = cls.select(cls, User, Account).join(User).join(Account)
        is_one = User.email == user.email, cls._is_open()
        return fetch(query.where(*is_one).order_by(cls.id.desc()))
