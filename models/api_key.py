"""API keys: shown once, kept as a SHA-256 digest (a key is 32 random bytes, so no slow hash is needed)."""

import hashlib
import secrets
from typing import Self

from peewee import BigIntegerField, CharField, ForeignKeyField, TextField

from models import clock
from models.account import Account
from models.database import BaseModel, reading, writing
from models.identifier import new_id
from models.page import Page, fetch_page

PREFIX = "mk_live_"
LAST_USE_GRANULARITY_MS = 3_600_000


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKey(BaseModel):
    """One key of an account. ``last_used_at`` is exact to the hour only."""

    account_id: str
    id = CharField(primary_key=True)
    account = ForeignKeyField(Account)
    name = TextField()
    digest = CharField(unique=True)
    created_at = BigIntegerField()
    revoked_at = BigIntegerField(null=True)
    last_used_at = BigIntegerField(null=True)

    @classmethod
    def issue(cls, account: Account, name: str) -> tuple[Self, str]:
        """Create a key. The second value is the key itself, which cannot be had again."""
        key = PREFIX + secrets.token_urlsafe(32)
        with writing():
            row = cls.create(
                id=new_id("key"),
                account=account,
                name=name,
                digest=_digest(key),
                created_at=clock.now(),
            )
        return row, key

    @classmethod
    def authenticate(cls, key: str) -> Account | None:
        """The account that the key opens, or None when it is unknown or revoked."""
        with reading():
            row = (
                cls.select(cls, Account)
                .join(Account)
                .where(cls.digest == _digest(key), cls.revoked_at.is_null())
                .first()
            )
        if row is None:
            return None
        row._note_use(clock.now())  # noqa: SLF001 - same class
        account: Account = row.account
        return account

    def _note_use(self, now: int) -> None:
        if self.last_used_at is None or now - self.last_used_at >= LAST_USE_GRANULARITY_MS:
            with writing():
                ApiKey.update(last_used_at=now).where(ApiKey.id == self.id).execute()

    @classmethod
    def revoke(cls, key_id: str) -> bool:
        """Make the key void at once. False when there is no such key."""
        with writing():
            updated = cls.update(revoked_at=clock.now()).where(
                cls.id == key_id, cls.revoked_at.is_null()
            )
            return bool(updated.execute()) or cls.select().where(cls.id == key_id).exists()

    @classmethod
    def find_of(cls, account_id: str, key_id: str) -> Self | None:
        """The account's key, or None."""
        with reading():
            return cls.get_or_none(cls.id == key_id, cls.account == account_id)

    @classmethod
    def page(cls, account_id: str, limit: int, offset: int) -> Page[Self]:
        """The account's keys, newest first."""
        query = cls.select().where(cls.account == account_id).order_by(cls.id.desc())
        return fetch_page(query, limit, offset)

    @classmethod
    def all(cls) -> list[Self]:
        """Every key, oldest first."""
        with reading():
            return list(cls.select().order_by(cls.id))
