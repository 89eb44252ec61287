"""API keys: shown once, kept as a SHA-256 digest (a key is 32 random bytes, so no slow hash is needed)."""

import hashlib
import secrets
from typing import Self

from peewee import BigIntegerField, CharField, ForeignKeyField, TextField

from models import clock
from models.account import Account
from models.clock import new_id
from models.database import BaseModel, Prepared, reading, writing
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
    def unrevoked(cls, key: str) -> tuple[Self, Account] | None:
        """The row of a key and its account, which may be suspended. Only reads."""
        with reading():
            found = _BY_DIGEST.execute(_digest(key)).first()
        if found is None:
            return None
        row = cls(**dict(zip(_KEY_NAMES, found, strict=False)))
        account = Account(**dict(zip(_ACCOUNT_NAMES, found[len(_KEY_NAMES) :], strict=True)))
        return row, account

    def is_use_due(self) -> bool:
        """Whether its last use was noted so long ago that this one is to be noted."""
        last = self.last_used_at
        return last is None or clock.now() - last >= LAST_USE_GRANULARITY_MS

    def note_use(self) -> None:
        """Note that it is used now."""
        with writing():
            ApiKey.update(last_used_at=clock.now()).where(ApiKey.id == self.id).execute()

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


_KEY_NAMES, _ACCOUNT_NAMES = (
    model._meta.sorted_field_names  # noqa: SLF001 - peewee's documented attribute
    for model in (ApiKey, Account)
)
_BY_DIGEST = Prepared(
    lambda digest: (
        ApiKey.select(ApiKey, Account)
        .join(Account)
        .where(ApiKey.digest == digest, ApiKey.revoked_at.is_null())
    )
)
