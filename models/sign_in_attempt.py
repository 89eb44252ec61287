"""Attempts to sign in that failed or are under way: who has too many of them has to wait.

Counted by the email that is tried and by the client's address, both kept as digests: what people type
into the wrong field is nobody's business.
"""

import hashlib
import math

from peewee import BigIntegerField, CharField

from models import clock
from models.database import BaseModel, writing
from models.identifier import new_id
from models.user import normalise

WINDOW_MS = 15 * 60_000
# Many people may share an address, nobody else shares an email.
EMAIL_LIMIT, ADDRESS_LIMIT = 5, 30


class TooManyAttemptsError(Exception):
    """Nothing was checked. ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class SignInAttempt(BaseModel):
    """One attempt under one subject: each attempt writes two of these."""

    id = CharField(primary_key=True)
    subject = CharField()
    at = BigIntegerField()

    class Meta:
        indexes = ((("subject", "at"), False),)

    @classmethod
    def begin(cls, email: str, address: str) -> None:
        """Count an attempt before anything is checked, so that many at once are no way around it.

        Raises TooManyAttemptsError.
        """
        now = clock.now()
        with writing():
            for subject, limit in _subjects(email, address):
                cls._refuse_if_full(subject, limit, now)
            for subject, _ in _subjects(email, address):
                cls.create(id=new_id("sia"), subject=subject, at=now)

    @classmethod
    def _refuse_if_full(cls, subject: str, limit: int, now: int) -> None:
        recent = (
            cls.select(cls.at)
            .where(cls.subject == subject, cls.at > now - WINDOW_MS)
            .order_by(cls.at.desc())
            .limit(limit)
        )
        times = [row.at for row in recent]
        if len(times) == limit:
            raise TooManyAttemptsError(max(1, math.ceil((times[-1] + WINDOW_MS - now) / 1000)))

    @classmethod
    def forget(cls, email: str, address: str) -> None:
        """It was the right password: the email starts afresh, the address is free of this attempt."""
        (by_email, _), (by_address, _) = _subjects(email, address)
        with writing():
            cls.delete().where(cls.subject == by_email).execute()
            newest = cls.select(cls.id).where(cls.subject == by_address)
            newest = newest.order_by(cls.id.desc()).limit(1)
            cls.delete().where(cls.id.in_(newest)).execute()


def _subjects(email: str, address: str) -> tuple[tuple[str, int], tuple[str, int]]:
    by_email = _digest(f"email {normalise(email)}")
    return (by_email, EMAIL_LIMIT), (_digest(f"address {address}"), ADDRESS_LIMIT)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
