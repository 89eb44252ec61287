"""API keys: shown once, kept as a SHA-256 digest (a key is 32 random bytes, so no slow hash is needed)."""

import hashlib
import secrets
from collections.abc import Iterable
from typing import Self

from peewee import BigIntegerField, TextField

from models import clock
from models.accounts.account import Account, Owned
from models.database import Prepared, is_in, reading, writing

PREFIX = "mk_live_"
LAST_USE_GRANULARITY_MS = 3_600_000


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


class ApiKey(Owned):
    """One key of an account. ``last_used_at`` is exact to the hour only."""

    name = TextField()
    digest = TextField(unique=True)
    created_at = BigIntegerField()
    revoked_at = BigIntegerField(null=True)
    last_used_at = BigIntegerField(null=True)

    @classmethod
    def issue(cls, account: Account, name: str) -> tuple[Self, str]:
        """Create a key. The second value is the key itself. It is not stored."""
        key = PREFIX + secrets.token_urlsafe(32)
        with writing():
            row = cls.create(
                id=clock.new_id("key"),
                account=account,
                name=name,
                digest=_digest(key),
                created_at=clock.now(),
            )
        return row, key

    @classmethod
    def unrevoked(cls, key: str) -> tuple[Self, Account] | None:
        """The row of a key and its account, which may be suspended. Only reads."""
        digest = _digest(key)
        found = _BY_DIGEST.first(digest)
        if found is None:
            return None
        row = cls(**dict(zip(_KEY_NAMES, found, strict=False)))
        account = Account(**dict(zip(_ACCOUNT_NAMES, found[len(_KEY_NAMES) :], strict=True)))
        return row, account

    @classmethod
    def void_among(cls, key_ids: Iterable[str]) -> set[str]:
        """The keys among these that are revoked, deleted, or belong to a suspended account."""
        given = list(key_ids)
        with reading():
            return set(given) - {key_id for (key_id,) in _OPENING.execute(given)}

    def is_use_due(self, now: int) -> bool:
        """Whether this use must be stored: the last one stored is more than an hour old."""
        last = self.last_used_at
        return last is None or now - last >= LAST_USE_GRANULARITY_MS

    def note_use(self) -> None:
        self.amend(last_used_at=clock.now())

    def revoke(self) -> None:
        """Revoke it now, unless it is revoked already."""
        self.amend(revoked_at=self.revoked_at or clock.now())


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
_OPENING = Prepared(
    lambda key_ids: (
        ApiKey.select(ApiKey.id)
        .join(Account)
        .where(
            is_in(ApiKey.id, key_ids),
            ApiKey.revoked_at.is_null(),
            Account.suspended_at.is_null(),
        )
    )
)
