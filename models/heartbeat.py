"""The workers' heartbeat: one row, which tells every process on the database whether a worker runs."""

from peewee import BigIntegerField, TextField

from models import clock
from models.database import BaseModel, write

WORKER = "worker"


class Heartbeat(BaseModel):
    """When a worker was last seen, in milliseconds since the epoch."""

    name = TextField(primary_key=True)
    at = BigIntegerField()

    @classmethod
    def beat(cls) -> None:
        """Record that a worker is alive."""
        seen = cls.insert(name=WORKER, at=clock.now())
        seen = seen.on_conflict(conflict_target=[cls.name], preserve=[cls.at])
        # Concurrent with all other transactions, except another heartbeat.
        write(seen.execute, "heartbeat")

    @classmethod
    def last(cls) -> int | None:
        """When a worker was last seen, or None."""
        row = cls.by_id(WORKER)
        return None if row is None else row.at
