"""Callbacks of the network, stored raw before they are answered, and ingested afterwards."""

from typing import Self

from peewee import BigIntegerField, BlobField, CharField, IntegerField, TextField, fn

from models import clock
from models.clock import new_id
from models.database import BaseModel, Prepared, appending, reading, writing
from models.database.prepared_list import PreparedList, PreparedListSelect, PreparedRows


class Callback(BaseModel):
    """The raw body of one callback. ``ingested_at`` is null while it waits."""

    id = CharField(primary_key=True)
    body = BlobField()
    received_at = BigIntegerField()
    ingested_at = BigIntegerField(null=True)
    tries = IntegerField(default=0)
    error = TextField(null=True)

    class Meta:
        indexes = ((("ingested_at", "id"), False),)

    @classmethod
    def store(cls, *bodies: bytes) -> list[Self]:
        """Keep raw bodies, all or none."""
        stored = [cls(id=new_id("cb"), body=body, received_at=clock.now()) for body in bodies]
        with appending():
            _ROWS.write([(each.id, each.body, each.received_at, each.tries) for each in stored])
        return stored

    @classmethod
    def find_waiting(cls, *callback_ids: str) -> list["Callback"]:
        """Those of these callbacks that are not ingested yet, oldest first."""
        with reading():
            return _WAITING.all(callback_ids)

    @classmethod
    def waiting_before(cls, before: int, limit: int = 100) -> list[str]:
        """Identifiers of callbacks received before ``before`` that still wait, oldest first.

        Those received in the future count too: the clock was set back since.
        """
        with reading():
            return [row[0] for row in _WAITING_BEFORE.tuples(before, clock.now(), limit)]

    @classmethod
    def oldest_waiting(cls) -> int | None:
        """When the oldest callback came that is not ingested yet; None without one."""
        with reading():
            query = cls.select(fn.MIN(cls.received_at)).where(cls.ingested_at.is_null())
            received_at: int | None = query.scalar()
            return received_at

    @staticmethod
    def finish(*callback_ids: str) -> None:
        """All their items are ingested or set aside. Inside the caller's transaction."""
        _FINISH.put(callback_ids, clock.now())

    def note_failure(self, reason: str) -> None:
        """Some item could not be ingested; the sweep comes back to it."""
        with writing():
            Callback.update(tries=Callback.tries + 1, error=reason).where(
                Callback.id == self.id
            ).execute()


_ROWS = PreparedRows(Callback, ["id", "body", "received_at", "tries"])
_WAITING_BEFORE = Prepared(
    lambda before, now, limit: (
        Callback.select(Callback.id)
        .where(
            Callback.ingested_at.is_null(),
            (Callback.received_at < before) | (Callback.received_at > now),
        )
        .order_by(Callback.id)
        .limit(limit)
    )
)
_WAITING = PreparedListSelect(
    Callback,
    lambda callback_ids: (
        Callback.select()
        .where(Callback.id.in_(callback_ids), Callback.ingested_at.is_null())
        .order_by(Callback.id)
    ),
)
_FINISH = PreparedList(
    lambda callback_ids, now: Callback.update(ingested_at=now, error=None).where(
        Callback.id.in_(callback_ids)
    ),
    1,
)
