"""The history that the positions of events belong to.

A cursor is valid only in the history in which it was made. A restored database and a promoted standby lack
the latest events of the old one, and give their positions to other events. So the history has a name, which
every cursor contains (docs/decisions/0047-events-in-the-order-of-commits.md).
"""

import secrets
from hashlib import blake2b
from pathlib import Path
from typing import Any

from peewee import SQL, BigIntegerField, Select, TextField, fn

from models.database import BaseModel, answers_at_once, database, reading, writing
from models.deliveries.event import Event, order_by_commit

# Where the database is on PostgreSQL: server, database and table. A dump that is restored elsewhere has
# another one.
_HOME = """(SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || oid || '/'
|| 'event'::regclass::oid FROM pg_database WHERE datname = current_database())"""
# The timeline of PostgreSQL's log, which changes when a standby is promoted and when an archive is restored.
# pg_control_checkpoint() shows it only after the next checkpoint. A standby cannot name its log.
_TIMELINE = """(CASE WHEN pg_is_in_recovery() THEN 'standby'
ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END)"""
NAME_BYTES = 6


class EventHistory(BaseModel):
    """One row, which ``settle`` writes.

    ``base`` is added to PostgreSQL's transaction numbers. On SQLite it is the count of ``advance``.
    """

    id = TextField(primary_key=True)
    home = TextField()
    base = BigIntegerField()


def mark() -> Any:
    """In a query, the text that ``name_of`` needs. It changes with the history."""
    stored = fn.COALESCE(Select([EventHistory], [EventHistory.id]).limit(1), "")
    if answers_at_once():
        return stored
    return stored.concat(SQL(f"'/' || {_HOME} || '/' || {_TIMELINE}"))


def name_of(marked: str) -> str:
    """The name of the history, as cursors contain it."""
    return blake2b(marked.encode(), digest_size=NAME_BYTES).hexdigest()


def added() -> Any:
    """In a query on PostgreSQL, what is added to a transaction number to make a position."""
    return fn.COALESCE(Select([EventHistory], [EventHistory.base]).limit(1), 0)


def settle() -> None:
    """Begin another history if the database was restored or copied. Every process does this at its start.

    On PostgreSQL new positions must be higher than those from the old server, whose transaction numbers may
    be far ahead of this server's.
    """
    with reading():
        if _is_settled():
            return
    with writing():
        if _is_settled():
            return
        base = _new_base()
        # Only the owner of the table may change its default, which is right in a database that never moved.
        if EventHistory.delete().execute() or base:
            order_by_commit(database, base)
        EventHistory.create(id=secrets.token_hex(NAME_BYTES), home=_home(), base=base)


def advance() -> None:
    """Begin another history if needed. On SQLite, raise a count in the database, then in a file beside it.

    A backup that is copied into the database's file keeps its home, but has a lower count.
    """
    # A backup may be restored while processes run, or before one started while the server was away.
    settle()
    if not answers_at_once():
        return
    with writing():
        EventHistory.update(base=EventHistory.base + 1).execute()
    # Only a committed count is written to the file, by one process at a time.
    with writing():
        row = EventHistory.select().first()
        if row is not None:
            new = _count_file().with_suffix(".new")
            new.write_text(str(row.base), encoding="ascii")
            new.replace(_count_file())


def _is_settled() -> bool:
    row = EventHistory.select().first()
    if row is None or row.home != _home():
        return False
    return not answers_at_once() or row.base >= _counted()


def _count_file() -> Path:
    return Path(f"{database.database}.count")


def _counted() -> int:
    """The count in the file. 0 if there is none, or if a power cut left it empty."""
    try:
        return int(_count_file().read_bytes())
    except (FileNotFoundError, ValueError):
        return 0


def _home() -> str:
    if not answers_at_once():
        [(home,)] = database.execute_sql(f"SELECT {_HOME}").fetchall()
        return str(home)
    path = Path(database.database)
    # A copy has another inode. If the numbers are reused, the lock file beside it is not as old.
    return f"{path.stat().st_ino}/{path.with_name(f'{path.name}.lock').stat().st_mtime_ns}"


def _new_base() -> int:
    if answers_at_once():
        return _counted()
    # No running or later transaction has a lower number than this.
    [(lowest,)] = database.execute_sql(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    ).fetchall()
    highest = Event.select(fn.MAX(Event.position)).scalar() or 0
    return int(max(0, highest + 1 - lowest))
