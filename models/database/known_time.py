"""Keeps the confirmed time in the database, so that a process notices a jump from before its start."""

from peewee import BigIntegerField, TextField

from models.clock import TOLERANCE_MS, Known, server_time, wall_clock
from models.database import BaseModel, answers_at_once, database, reading, write

# Seconds between two looks of a process, and milliseconds between two records of the confirmed time.
LOOK_SECONDS, RECORD_MS = 10.0, 60_000
_NAME = "wall clock"


class KnownTime(BaseModel):
    """One row: a ``Known``. Only used on SQLite."""

    name = TextField(primary_key=True)
    boot_id = TextField()
    offset_ms = BigIntegerField()
    at = BigIntegerField()


def look() -> None:
    """Compare the clocks. On PostgreSQL, measure the server's time. Raises peewee's or psycopg's errors."""
    if not answers_at_once():
        with reading():
            server_time.measure(database.connection())
        return
    row = KnownTime.by_id(_NAME)
    before = None if row is None else Known(row.boot_id, row.offset_ms, row.at)
    now = wall_clock.look(before)
    if wall_clock.is_confirmed and (before is None or _is_outdated(before, now)):
        _record(now)


def confirm() -> None:
    """Trust the wall clock as it is. Other processes follow at their next look."""
    wall_clock.confirm()
    _record(wall_clock.known)


def _is_outdated(before: Known, now: Known) -> bool:
    is_other = before.boot != now.boot or abs(before.offset - now.offset) > TOLERANCE_MS
    return is_other or now.at - before.at > RECORD_MS


def _record(known: Known) -> None:
    row = {"boot_id": known.boot, "offset_ms": known.offset, "at": known.at}
    insert = KnownTime.insert(name=_NAME, **row)
    write(insert.on_conflict(conflict_target=[KnownTime.name], update=row).execute, _NAME)
