"""Signup links: shared with a number's owner, good for one signup until they expire."""

import base64
import re
import secrets
from typing import Self

from peewee import BigIntegerField, CharField, ForeignKeyField

from models import clock
from models.account import Account
from models.clock import new_id
from models.database import BaseModel, reading, writing
from models.number import Number
from models.page import Page, fetch_page

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


class SignupLink(BaseModel):
    """A link. It is open until it is used, revoked or expired."""

    account_id: str
    id = CharField(primary_key=True)
    account = ForeignKeyField(Account)
    slug = CharField(unique=True)
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
        with reading():
            link: Self | None = (
                cls.select(cls, Account).join(Account).where(cls.slug == slug).first()
            )
            return link

    @classmethod
    def find_of(cls, account_id: str, link_id: str) -> Self | None:
        """The account's link, or None."""
        with reading():
            return cls.get_or_none(cls.id == link_id, cls.account == account_id)

    @classmethod
    def page(cls, account_id: str, limit: int, offset: int) -> Page[Self]:
        """The account's links, newest first."""
        query = cls.select().where(cls.account == account_id).order_by(cls.id.desc())
        return fetch_page(query, limit, offset)

    @classmethod
    def all(cls) -> list[Self]:
        """Every link, oldest first."""
        with reading():
            return list(cls.select().order_by(cls.id))

    def why_closed(self) -> str | None:
        """``used``, ``revoked`` or ``expired``; None while the link is open."""
        if self.used_at is not None:
            return "used"
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= clock.now() else None

    def use(self, number: Number) -> bool:
        """Spend the link inside the caller's transaction. False when it was closed in the meantime."""
        spent = SignupLink.update(used_at=clock.now(), number=number.id).where(
            SignupLink.id == self.id,
            SignupLink.used_at.is_null(),
            SignupLink.revoked_at.is_null(),
        )
        return bool(spent.execute())

    @classmethod
    def revoke(cls, link_id: str) -> bool:
        """Close an unused link. False when there is no such link."""
        with writing():
            cls.update(revoked_at=clock.now()).where(
                cls.id == link_id, cls.used_at.is_null(), cls.revoked_at.is_null()
            ).execute()
            return bool(cls.select().where(cls.id == link_id).exists())
