"""Signup links: shared with a number's owner, good for one signup until they expire."""

import base64
import re
import secrets
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.account import Account, Owned
from models.clock import new_id
from models.database import reading, writing
from models.number import Number

LIFETIME_MS = 7 * 24 * 3_600_000
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}", re.ASCII)
# 80 bits, as 16 characters of base32. A slug is a secret: it connects a number to the account.
RANDOM_BYTES = 10
MAX_SLUG = 63
MAX_NAME = MAX_SLUG - 16 - len("-")


def unguessable(name: str) -> str:
    """A slug that begins with ``name`` and goes on at random. It may be longer than SLUG allows."""
    return f"{name}-{base64.b32encode(secrets.token_bytes(RANDOM_BYTES)).decode().lower()}"


class SlugTakenError(Exception):
    """A signup link with this slug exists already."""


class SignupLink(Owned):
    """A link. It is open until it is used, revoked or expired."""

    slug = TextField(unique=True)
    number = ForeignKeyField(Number, null=True, lazy_load=False)
    created_at = BigIntegerField()
    expires_at = BigIntegerField()
    used_at = BigIntegerField(null=True)
    revoked_at = BigIntegerField(null=True)

    @classmethod
    def open(cls, account: Account, slug: str) -> Self:
        """Create a link. Raises SlugTakenError."""
        now = clock.now()
        with writing():
            if cls.select().where(cls.slug == slug).exists():
                raise SlugTakenError(slug)
            return cls.create(
                id=new_id("sl"),
                account=account,
                slug=slug,
                created_at=now,
                expires_at=now + LIFETIME_MS,
            )

    @classmethod
    def find(cls, slug: str) -> Self | None:
        """The link with its account, or None."""
        query = cls.select(cls, Account).join(Account)
        with reading():
            link: Self | None = query.where(cls.slug == slug).first()
            return link

    def why_closed(self) -> str | None:
        """``used``, ``revoked`` or ``expired``; None while the link is open."""
        if self.used_at is not None:
            return "used"
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= clock.now() else None

    def use(self, number: Number) -> bool:
        """Spend the link inside the caller's transaction. False when it was closed in the meantime."""
        use = SignupLink.update(used_at=clock.now(), number=number.id)
        return bool(use.where(*self._is_unspent()).execute())

    def revoke(self) -> None:
        """Close it, unless it was used."""
        with writing():
            SignupLink.update(revoked_at=clock.now()).where(*self._is_unspent()).execute()

    def _is_unspent(self) -> tuple[Any, ...]:
        unspent = SignupLink.used_at.is_null(), SignupLink.revoked_at.is_null()
        return SignupLink.id == self.id, *unspent
