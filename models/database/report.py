"""The state of the database for ``gateway doctor``: SQLite's file, or PostgreSQL's server. Read only."""

import time
from dataclasses import dataclass

from models.database import database, reading
from models.database.identifiers import unsorted
from models.database.session_settings import LENIENT, OF_THE_SERVER, OUTSIDE, PINNED
from models.database.sqlite import path_of

# How often SQLite calls the progress handler, in steps of its virtual machine.
STEPS = 10_000

_LOOK = """
SELECT split_part(current_setting('server_version'), ' ', 1),
       current_setting('server_version_num')::int,
       pg_database_size(oid),
       pg_encoding_to_char(encoding),
       datcollate,
       current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int,
       pg_is_in_recovery()
FROM pg_database WHERE datname = current_database()
"""
_SETTINGS = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)"


@dataclass(frozen=True)
class File:
    """``size`` is in bytes. ``damage`` is SQLite's first finding. ``is_complete``: no timeout."""

    size: int
    journal_mode: str
    damage: str | None
    is_complete: bool


@dataclass(frozen=True)
class Server:
    """The connected database and its server. ``size`` is in bytes, ``connections`` is their limit.

    ``sorts_ids`` is whether identifiers have the same order as in Python.
    """

    version: str
    version_number: int
    size: int
    encoding: str
    collation: str
    connections: int
    is_replica: bool
    sorts_ids: bool


def inspect_file(url: str, seconds: float) -> File:
    """Check the connected SQLite database for at most ``seconds``. Raises peewee's DatabaseError."""
    database.connect(reuse_if_open=True)
    (mode,) = database.execute_sql("PRAGMA journal_mode").fetchone()
    path = path_of(url)
    # The journal included, which may hold the newest rows.
    files = (path, path.with_name(f"{path.name}-wal"))
    size = sum(file.stat().st_size for file in files if file.exists())
    return File(size, str(mode), *_quick_check(seconds))


def _quick_check(seconds: float) -> tuple[str | None, bool]:
    deadline = time.monotonic() + seconds
    connection = database.connection()
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except connection.OperationalError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            return None, False
        raise
    finally:
        connection.set_progress_handler(None, 0)
    return (None if answer == "ok" else str(answer)), True


def inspect_server() -> Server:
    """Query the connected PostgreSQL. Raises peewee's DatabaseError."""
    with reading():
        found = database.execute_sql(_LOOK).fetchone()
        return Server(*[*found, not unsorted(database.obj)])


def unpinned_settings() -> dict[str, str]:
    """The settings of a transaction of the connected PostgreSQL that are not as the gateway needs them."""
    wanted = PINNED | LENIENT | OF_THE_SERVER
    with reading(), database.atomic():
        shown = dict(database.execute_sql(_SETTINGS, [list(wanted)]).fetchall())
    return {n: v for n, v in shown.items() if v != wanted[n] and not _is_harmless(n, v)}


def _is_harmless(name: str, value: str) -> bool:
    """Behind a pooler, what concerns only idle sessions or the beginning of a transaction stays as it is."""
    return name in OUTSIDE or name == "transaction_timeout" or value.startswith("remote_")
