"""Idempotency keys: a claim before the request to the network, the response after it.

A row without a response is a claim. No other request takes it over, because the network may have received
the message (ADR 5). The response of an accepted message is built from the
message, so only other responses are stored here. The rows of operations other than the send have no message,
and keys that begin with their operation (services.repeating).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from peewee import BigAutoField, BigIntegerField, ForeignKeyField, IntegerField, TextField

from models import clock
from models.accounts.account import Account
from models.database import BaseModel, Prepared, fetch, matching
from models.messages.message import Message

WINDOW_MS = 24 * 3_600_000
SERVER_ERROR = 500


class IdempotencyKey(BaseModel):
    """The request that first carried ``key`` in this account, and its error response if it has one.

    If its message was erased, the row of a send has neither a message nor a response. Its key sends no more.
    """

    message_id: str | None
    id = BigAutoField()
    account = ForeignKeyField(Account, lazy_load=False, index=False)
    key = TextField()
    fingerprint = TextField()
    message = ForeignKeyField(Message, lazy_load=False, null=True, on_delete="SET NULL")
    response_status = IntegerField(null=True)
    response_body = TextField(null=True)
    retry_after = IntegerField(null=True)
    created_at = BigIntegerField(index=True)

    class Meta:
        indexes = ((("account", "key"), True),)

    @property
    def is_refused(self) -> bool:
        """Whether the network certainly did not send the message. A new try needs another key."""
        return self.response_status is not None and self.response_status < SERVER_ERROR

    @classmethod
    def find(cls, account_id: str, key: str) -> "IdempotencyKey | None":
        """The row of a key that is still within its 24 hours, or None."""
        return cls.current(_BY_KEY.read(account_id, key))

    @classmethod
    def look_up(cls, account_id: str, key: str) -> "Iterable[IdempotencyKey]":
        """The query of a key, for ``current``. In a transaction it is sent with the next one."""
        found: Iterable[IdempotencyKey] = _BY_KEY.execute(account_id, key)
        return found

    @staticmethod
    def current(rows: "Iterable[IdempotencyKey]") -> "IdempotencyKey | None":
        """The row of a key if it is still within its 24 hours, or None."""
        since = clock.certain() - WINDOW_MS
        return next((row for row in rows if row.created_at > since), None)

    @classmethod
    def keys_of(cls, message_id: str) -> set[str]:
        """The keys of a message."""
        return {row.key for row in fetch(cls.select(cls.key).where(cls.message == message_id))}

    @classmethod
    def claim(
        cls, account_id: str, key: str, fingerprint: str, message: Message
    ) -> "IdempotencyKey | None":
        """Claim a key inside the caller's transaction. Returns the row that already has it, or None."""
        return cls._claim(account_id, key, fingerprint, message.id, message.created_at)

    @classmethod
    def claim_alone(cls, account_id: str, key: str, fingerprint: str) -> "IdempotencyKey | None":
        """Like ``claim``, for a request that writes no message."""
        return cls._claim(account_id, key, fingerprint, None, clock.now())

    @classmethod
    def _claim(cls, account_id: str, key: str, *values: Any) -> "IdempotencyKey | None":
        expired = clock.certain() - WINDOW_MS
        if _CLAIM.execute(account_id, key, *values, expired).count:
            return None
        return _BY_KEY.first(account_id, key)

    @classmethod
    def answer(
        cls, message: Message, status: int, body: str, retry_after: int | None = None
    ) -> None:
        """Keep the response of the request that wrote ``message``, in the caller's transaction."""
        cls.update(response_status=status, response_body=body, retry_after=retry_after).where(
            cls.message == message.id
        ).execute()

    @classmethod
    def release(cls, message: Message) -> None:
        """Delete the claim of ``message``: the network certainly did not send it."""
        cls.delete().where(cls.message == message.id).execute()

    @classmethod
    def answer_alone(
        cls, account_id: str, key: str, status: int, body: str, retry_after: int | None = None
    ) -> None:
        """Keep the response of a request that wrote no message, in the caller's transaction."""
        kept = cls.update(response_status=status, response_body=body, retry_after=retry_after)
        kept.where(cls.account == account_id, cls.key == key).execute()

    @classmethod
    def release_alone(cls, account_id: str, key: str) -> None:
        """Delete the claim of a request that wrote no message: certainly nothing was done."""
        cls.delete().where(cls.account == account_id, cls.key == key).execute()

    @classmethod
    def erase(cls, message_ids: Sequence[str]) -> None:
        """Remove digests and responses from the keys of these messages, before the messages are deleted."""
        query = cls.update(fingerprint="", response_status=None, response_body=None)
        query.where(cls.message.in_(message_ids)).execute()

    @classmethod
    def forget_expired(cls) -> int:
        """Delete at most 1,000 rows whose window is over. Returns how many."""
        is_old = cls.created_at < clock.certain() - WINDOW_MS
        old = cls.select(cls.id).where(is_old).limit(1000)
        # The condition is checked again for each row: another transaction may just have claimed its key.
        return int(cls.delete().where(cls.id.in_(old), is_old).execute())


_BY_KEY = matching(IdempotencyKey, "account", "key")
# Insert a row, or replace an expired one and its response.
_CLAIM = Prepared(
    lambda account_id, key, fingerprint, message_id, now, expired: IdempotencyKey.insert(
        account=account_id, key=key, fingerprint=fingerprint, message=message_id, created_at=now
    ).on_conflict(
        conflict_target=[IdempotencyKey.account, IdempotencyKey.key],
        preserve=[
            IdempotencyKey.fingerprint,
            IdempotencyKey.message,
            IdempotencyKey.created_at,
            IdempotencyKey.response_status,
            IdempotencyKey.response_body,
            IdempotencyKey.retry_after,
        ],
        where=IdempotencyKey.created_at <= expired,
    )
)
