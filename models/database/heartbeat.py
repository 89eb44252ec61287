"""The workers' heartbeat: one row, which tells every process on the database whether a worker runs.

Each worker has a row too, and so has each kind of trouble on a worker's machine: when it was last noticed.
"""

from peewee import BigIntegerField, TextField

from models import clock
from models.database import BaseModel, fetch, write

WORKER, EACH, TROUBLE = "worker", "worker: ", "trouble: "


class Heartbeat(BaseModel):
    """When a worker was last seen, in milliseconds since the epoch."""

    name = TextField(primary_key=True)
    at = BigIntegerField()

    @classmethod
    def beat(cls) -> None:
        """Record that a worker is alive."""
        cls._note(WORKER)

    @classmethod
    def beat_as(cls, worker: str) -> dict[str, int]:
        """Record that the worker of this name is alive. Returns when each was last seen, in milliseconds."""
        cls._note(EACH + worker)
        found = fetch(cls.select().where(cls.name.startswith(EACH)))
        return {row.name.removeprefix(EACH): row.at for row in found}

    @classmethod
    def forget(cls, worker: str) -> None:
        """Remove a worker that died, inside the caller's transaction."""
        cls.delete().where(cls.name == EACH + worker).execute()

    @classmethod
    def note_trouble(cls, cause: str) -> None:
        """Record that a worker's machine lacks something (webhooks.faults)."""
        cls._note(TROUBLE + cause)

    @classmethod
    def troubles_since(cls, at: int) -> list[str]:
        """The causes of trouble that workers noticed since a time."""
        found = cls.select(cls.name).where(cls.name.startswith(TROUBLE), cls.at >= at)
        return sorted(row.name.removeprefix(TROUBLE) for row in fetch(found))

    @classmethod
    def _note(cls, name: str) -> None:
        seen = cls.insert(name=name, at=clock.now())
        seen = seen.on_conflict(conflict_target=[cls.name], preserve=[cls.at])
        # Concurrent with all other transactions, except another heartbeat.
        write(seen.execute, "heartbeat")

    @classmethod
    def last(cls) -> int | None:
        """When a worker was last seen, or None."""
        row = cls.by_id(WORKER)
        return None if row is None else row.at
