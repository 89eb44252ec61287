"""The workers' heartbeat: one row, which tells every process on the database whether a worker runs."""

from peewee import BigIntegerField, TextField

from models import clock
from models.database import BaseModel, writing

WORKER = "worker"
# More often than this nothing is written: a sign of life must not cost an idle service its rest.
INTERVAL_MS = 5_000


class Heartbeat(BaseModel):
    """When a worker was last seen, in milliseconds since the epoch."""

    name = TextField(primary_key=True)
    at = BigIntegerField()

    @classmethod
    def beat(cls) -> None:
        """Say that a worker is alive, unless that was just said."""
        now, last = clock.now(), cls.last()
        # One from the future was written before the clock was set back.
        if last is None or not now - INTERVAL_MS < last <= now:
            row = cls.insert(name=WORKER, at=now)
            with writing():
                row.on_conflict(conflict_target=[cls.name], preserve=[cls.at]).execute()

    @classmethod
    def last(cls) -> int | None:
        """When a worker was last seen; None when there never was one."""
        row = cls.by_id(WORKER)
        return None if row is None else row.at
