"""Callbacks of the network, stored raw before they are answered, and ingested afterwards."""

import uuid
from typing import Any, Self

from peewee import SQL, BigIntegerField, BlobField, IntegerField, TextField, fn

from models import clock, work
from models.clock import new_id
from models.database import (
    BaseModel,
    Prepared,
    appending,
    is_among,
    is_in,
    reading,
    write,
    writing,
)

# Between two tries, in seconds: over 12 hours in all, for a new version of the gateway mends most failures.
PAUSES = (2, 10, 60, 300, 900, 3_600, 3 * 3_600, 8 * 3_600)
MAX_TRIES = len(PAUSES) + 1
# To ingest again what another worker still ingests does no harm. So a lease need not outlast every batch.
LEASE_MS = 10_000
# What claims work on (models.database.write).
CLAIMS = "callback claims"
AT_ONCE = 0


class Callback(BaseModel):
    """The raw body of one callback.

    It waits until ``due_at``: AT_ONCE, after a pause, or at the end of a lease. ``ingested_at`` is when its
    last item was ingested or set aside; then it has no ``due_at``. ``tries`` counts the try under way.
    """

    id = TextField(primary_key=True)
    body = BlobField()
    received_at = BigIntegerField()
    ingested_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    error = TextField(null=True)
    due_at = BigIntegerField(null=True)
    lease_token = TextField(null=True)

    @classmethod
    def store(cls, *bodies: bytes) -> list[Self]:
        """Keep raw bodies, all or none."""
        with appending():
            return [
                cls.create(id=new_id("cb"), body=body, received_at=clock.now(), due_at=AT_ONCE)
                for body in bodies
            ]

    @classmethod
    def claim(cls, limit: int) -> list["Callback"]:
        """Claim callbacks that are due, those first that have been due for longest.

        One whose worker died or froze is claimed alone: it may have been the cause.
        """
        with reading():
            now = work.now()
            first = _FIRST_DUE.execute(now).first()
            if first is None:
                return []
            claim, most = (_CLAIM_NEXT, 1) if first.lease_token else (_CLAIM, limit)
            values = uuid.uuid4().hex, now + LEASE_MS, now, most
            claimed = write(lambda: list(claim.execute(*values)), CLAIMS)
            return sorted(claimed, key=lambda callback: callback.id)

    @classmethod
    def oldest_waiting(cls) -> int | None:
        """When the oldest callback came that is not ingested yet; None without one."""
        with reading():
            query = cls.select(fn.MIN(cls.received_at)).where(cls.due_at.is_null(False))
            received_at: int | None = query.scalar()
            return received_at

    @staticmethod
    def finish(*callback_ids: str) -> None:
        """All their items are ingested or set aside. Inside the caller's transaction."""
        _FINISH.execute(list(callback_ids), clock.now())

    def postpone(self, error: str) -> None:
        """Some item could not be ingested: it is tried again after a pause."""
        due_at = work.now() + PAUSES[self.tries - 1] * 1_000
        with writing():
            Callback.update(error=error, lease_token=None, due_at=due_at).where(
                Callback.id == self.id, Callback.lease_token == self.lease_token
            ).execute()

    @classmethod
    def recall(cls) -> int:
        """End the leases that the clock left behind when it was set back. Returns how many."""
        behind = cls.lease_token.is_null(False), cls.due_at > work.now() + LEASE_MS
        with reading():
            if not cls.select().where(*behind).exists():
                return 0
        with writing():
            return int(cls.update(due_at=AT_ONCE).where(*behind).execute())


Callback.add_index(
    Callback.ingested_at, where=SQL("ingested_at IS NOT NULL"), name="callback_ingested"
)
Callback.add_index(
    Callback.due_at, Callback.id, where=SQL("due_at IS NOT NULL"), name="callback_due"
)


def _due(now: Any) -> Any:
    in_order = Callback.select(Callback.id).where(Callback.due_at <= now)
    return in_order.order_by(Callback.due_at, Callback.id)


def _claim(which: Any) -> Prepared:
    def claim(token: Any, until: Any, now: Any, limit: Any) -> Any:
        claimed = Callback.update(tries=Callback.tries + 1, lease_token=token, due_at=until)
        ids = _due(now).where(which).limit(limit)
        return claimed.where(is_among(Callback.id, ids)).returning(Callback)

    return Prepared(claim, Callback)


_FIRST_DUE = Prepared(lambda now: _due(now).select(Callback).limit(1), Callback)
_CLAIM = _claim(Callback.lease_token.is_null())
_CLAIM_NEXT = _claim(SQL("TRUE"))
_FINISH = Prepared(
    lambda ids, now: Callback.update(
        ingested_at=now, error=None, due_at=None, lease_token=None
    ).where(is_in(Callback.id, ids))
)
