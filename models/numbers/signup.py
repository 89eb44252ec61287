"""Signup links, which an account shares with a number's owner, and the signups in progress.

The code of a signup works once. So the token that it bought is stored, encrypted, before it is used, and a
failed signup can be retried without a new code. The code is stored as a hash only. A complete signup is
deleted: its number has the token and the PIN.
"""

import base64
import re
import secrets
from typing import Any, Self

from peewee import BigIntegerField, ForeignKeyField, TextField

from models import clock
from models.accounts import secret
from models.accounts.account import Account, Owned
from models.accounts.audit import Audit
from models.database import BaseModel, exclusively, reading
from models.decoded import Decoded
from models.numbers.number import Number

LIFETIME_MS = 7 * 24 * 3_600_000
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}", re.ASCII)
# 80 bits, as 16 characters of base32. A slug is a secret: it connects a number to the account.
RANDOM_BYTES = 10
MAX_SLUG = 63
MAX_NAME = MAX_SLUG - 16 - len("-")


def unguessable(name: str) -> str:
    """A slug with ``name`` and a random ending. It may be longer than SLUG allows."""
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
    @exclusively
    def open(cls, account: Account, slug: str) -> Self:
        """Create a link. Raises SlugTakenError."""
        now = clock.now()
        if cls.select().where(cls.slug == slug).exists():
            raise SlugTakenError(slug)
        link = cls.create(
            id=clock.new_id("sl"),
            account=account,
            slug=slug,
            created_at=now,
            expires_at=now + LIFETIME_MS,
        )
        # Without the slug, which is a secret.
        Audit.record(account.id, "link.created", link.id)
        return link

    @classmethod
    def find(cls, slug: str) -> Self | None:
        """The link with its account, or None."""
        return cls.with_account(cls.slug == slug)

    def why_closed(self) -> str | None:
        """``used``, ``revoked`` or ``expired``; None while the link is open."""
        if self.used_at is not None:
            return "used"
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= clock.certain() else None

    def use(self, number: Number) -> bool:
        """Use the link inside the caller's transaction. Returns False if it was closed in the meantime."""
        is_used = self._close(used_at=clock.now(), number=number.id)
        if is_used:
            Audit.record(self.account_id, "link.used", self.id, after={"number": number.id})
        return is_used

    @exclusively
    def revoke(self) -> None:
        """Revoke the link, unless it was used."""
        if self._close(revoked_at=clock.now()):
            Audit.record(self.account_id, "link.revoked", self.id)

    def _close(self, **changes: Any) -> bool:
        link = SignupLink
        is_open = (link.id == self.id) & link.used_at.is_null() & link.revoked_at.is_null()
        return bool(link.update(changes).where(is_open).execute())


class Signup(BaseModel):
    """The token that one code of the embedded signup bought.

    ``sealed_pin`` is the two-step PIN from the owner of ``number``, until the network has accepted it.
    """

    number_id: str | None
    id = TextField(primary_key=True)
    link = ForeignKeyField(SignupLink, lazy_load=False, on_delete="CASCADE", index=False)
    code_hash = TextField()
    sealed_token = secret.SealedField()
    access_token = Decoded(secret.decrypt, "sealed_token")
    number = ForeignKeyField(Number, null=True, lazy_load=False, index=False)
    sealed_pin = secret.SealedField(null=True)
    created_at = BigIntegerField()

    class Meta:
        indexes = ((("link", "code_hash"), True),)

    @classmethod
    def find(cls, link: SignupLink, code: str) -> Self | None:
        """The signup with this code at this link, or None."""
        with reading():
            return cls.get_or_none(cls.link == link.id, cls.code_hash == secret.digest(code))

    @classmethod
    @exclusively
    def begin(cls, link: SignupLink, code: str, access_token: str) -> Self:
        """Record the exchanged code."""
        return cls.create(
            id=clock.new_id("sgn"),
            link=link.id,
            code_hash=secret.digest(code),
            sealed_token=secret.encrypt(access_token),
            created_at=clock.now(),
        )
