"""Two-factor authentication of a person: an authenticator app, and recovery codes for when it is lost.

No code works twice: the time step of a code is stored, and a used recovery code is deleted. The secret is in
all users of the person (models.accounts.user). The recovery codes belong to one of them, and work for all.
"""

import base64
import re
import secrets
from typing import Any, Self

from peewee import TextField, fn

from models import clock
from models.accounts import secret, totp
from models.accounts.user import OfUser, User, record_of_person
from models.database import fetch, writing

SET_UP, ON, OFF = "two_factor.set_up", "two_factor.enabled", "two_factor.disabled"
RECOVERY_CODES = 10
# 80 bits, as 16 characters of base32: too many to try, so a plain digest is enough.
RECOVERY_BYTES = 10
_CODE = re.compile(r"[0-9]{6}", re.ASCII)


class RecoveryCode(OfUser):
    """A code that replaces the app's code in one sign-in.

    Its digest contains the identifier of ``made_for``, by default that of its user.
    """

    made_for = TextField(null=True)

    @classmethod
    def renew(cls, user: User) -> list[str]:
        """Replace all codes of the person with new ones. Returns them as the person sees them, once."""
        codes = [_new_code() for _ in range(RECOVERY_CODES)]
        with writing():
            cls.end_all(user)
            for code in codes:
                cls.create(id=clock.new_id("rec"), user=user, digest=_digest(user.id, code))
        return codes

    @classmethod
    def of(cls, user: User) -> list[Self]:
        """The unused codes of the user's person."""
        return fetch(cls.select().where(cls.is_of_person(user)))

    @classmethod
    def hand_over(cls, user: User) -> None:
        """Give the codes to another user of the person, if there is one: this user is about to be removed."""
        with writing():
            others = [each.id for each in User.person(user.email) if each.id != user.id]
            if others:
                changes = {"user": others[0], "made_for": fn.COALESCE(cls.made_for, user.id)}
                cls.update(changes).where(cls.user == user.id).execute()


def set_up(user: User) -> None:
    """Store a new secret. It has no effect until ``turn_on``."""
    with writing():
        if not User.get_by_id(user.id).has_two_factor:
            user.amend_person(sealed_totp=secret.encrypt(totp.new_secret()), totp_step=0)
            record_of_person(user, SET_UP, SET_UP)


def pending_secret(user: User) -> str | None:
    """The secret during set-up, to show to its user. None if there is none or it is in use."""
    if user.sealed_totp is None or user.has_two_factor:
        return None
    return secret.decrypt(user.sealed_totp)


def turn_on(user: User, code: str) -> list[str] | None:
    """Turn it on with the app's first code. Returns the recovery codes, or None for a wrong code."""
    with writing():
        present = User.get_by_id(user.id)
        if present.has_two_factor or not _is_of_the_app(present, _typed(code)):
            return None
        user.amend_person(totp_since=clock.now())
        record_of_person(user, ON, ON)
        return RecoveryCode.renew(user)


def accept(user: User, code: str) -> bool:
    """Check a code of the app or a recovery code, and use it up."""
    typed = _typed(code)
    with writing():
        present = User.get_by_id(user.id)
        if not present.has_two_factor:
            return False
        if _CODE.fullmatch(typed):
            return _is_of_the_app(present, typed)
        makers = {row.made_for or row.user_id for row in RecoveryCode.of(user)}
        digests = [_digest(maker, typed) for maker in makers]
        used: Any = RecoveryCode.delete().where(RecoveryCode.digest.in_(digests))
        return bool(used.execute())


def is_used(user: User, code: str) -> bool:
    """Whether a refused code is one of the app that would be right if it, or a later one, were not used."""
    present = User.get_by_id(user.id)
    return present.has_two_factor and _matching_step(present, _typed(code)) is not None


def turn_off(user: User) -> None:
    """Turn two-factor authentication off. Deletes the secret and the recovery codes."""
    with writing():
        user.amend_person(sealed_totp=None, totp_since=None)
        RecoveryCode.end_all(user)
        record_of_person(user, OFF, "user.two_factor_disabled")


def _is_of_the_app(user: User, code: str) -> bool:
    step = _matching_step(user, code)
    if step is None:
        return False
    # Of two concurrent sign-ins with the same code, only one updates the person's rows.
    unused = User.update(totp_step=step).where(User.email == user.email, User.totp_step < step)
    return bool(unused.execute())


def _matching_step(user: User, code: str) -> int | None:
    if user.sealed_totp is None:
        return None
    return totp.matching_step(secret.decrypt(user.sealed_totp), code, clock.now())


def _typed(code: str) -> str:
    """A code without blanks and dashes."""
    return re.sub(r"[\s-]", "", code).lower()


def _digest(user_id: str, code: str) -> str:
    return secret.digest(f"recovery {user_id} {_typed(code)}")


def _new_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))
