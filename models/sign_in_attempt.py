"""Attempts to sign in that failed or are under way: who has too many of them has to wait.

They are counted by the client's address, by the email, and by both together, all kept as digests: what
people type into the wrong field is nobody's business. No number of attempts from elsewhere keeps a user
out, because an address is refused for its own attempts only (ADR 23).
"""

import math

from peewee import BigIntegerField, TextField

from models import clock, secret
from models.client_address import one_client
from models.clock import new_id
from models.database import BaseModel, writing
from models.user import normalise

WINDOW_MS = 15 * 60_000
# Attempts in one window from one address, at one email and in all: many people may share an address.
PAIR_LIMIT, ADDRESS_LIMIT = 5, 30
# An email that was tried so often from all addresses together is under attack. Each address then has one
# attempt: guessing gets slower, and the owner with the right password gets in.
ATTACKED_AT, ATTACKED_PAIR_LIMIT = 20, 1


class TooManyAttemptsError(Exception):
    """Nothing was checked. ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class SignInAttempt(BaseModel):
    """One attempt under one subject: each attempt writes three of these."""

    id = TextField(primary_key=True)
    subject = TextField()
    at = BigIntegerField()

    class Meta:
        indexes = ((("subject", "at"), False),)

    @classmethod
    def begin(cls, email: str, address: str) -> None:
        """Count an attempt before anything is checked, so that many at once are no way around it.

        Raises TooManyAttemptsError.
        """
        now = clock.now()
        pair, by_email, by_address = subjects = _subjects(email, address)
        with writing():
            is_attacked = len(cls._recent(by_email, ATTACKED_AT, now)) == ATTACKED_AT
            cls._refuse_if_full(pair, ATTACKED_PAIR_LIMIT if is_attacked else PAIR_LIMIT, now)
            cls._refuse_if_full(by_address, ADDRESS_LIMIT, now)
            for subject in subjects:
                cls.create(id=new_id("sia"), subject=subject, at=now)

    @classmethod
    def _recent(cls, subject: str, limit: int, now: int) -> list[int]:
        """The times of the last attempts, newest first."""
        query = cls.select(cls.at).where(cls.subject == subject, cls.at > now - WINDOW_MS)
        return [row.at for row in query.order_by(cls.at.desc()).limit(limit)]

    @classmethod
    def _refuse_if_full(cls, subject: str, limit: int, now: int) -> None:
        times = cls._recent(subject, limit, now)
        if len(times) == limit:
            raise TooManyAttemptsError(max(1, math.ceil((times[-1] + WINDOW_MS - now) / 1000)))

    @classmethod
    def forget(cls, email: str, address: str) -> None:
        """It was the right password: the pair starts afresh, email and address are free of this attempt."""
        pair, *others = _subjects(email, address)
        with writing():
            cls.delete().where(cls.subject == pair).execute()
            for subject in others:
                newest = cls.select(cls.id).where(cls.subject == subject)
                newest = newest.order_by(cls.id.desc()).limit(1)
                cls.delete().where(cls.id.in_(newest)).execute()


def _subjects(email: str, address: str) -> tuple[str, str, str]:
    """What an attempt counts for: the pair, the email, the address."""
    email, place = normalise(email), one_client(address)
    parts = f"pair {place} {email}", f"email {email}", f"address {place}"
    pair, by_email, by_address = map(secret.digest, parts)
    return pair, by_email, by_address
