"""How the database is, for ``gateway doctor``: SQLite's file, or PostgreSQL's server. Nothing is changed."""

import time
from dataclasses import dataclass

from models.database import database, reading
from models.database.sqlite import path_of

# SQLite asks that often, in steps of its virtual machine, whether to go on.
STEPS = 10_000

_LOOK = """
SELECT split_part(current_setting('server_version'), ' ', 1),
       current_setting('server_version_num')::int,
       pg_database_size(oid),
       pg_encoding_to_char(encoding),
       datcollate,
       current_setting('synchronous_commit'),
       current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int,
       pg_is_in_recovery()
FROM pg_database WHERE datname = current_database()
"""


@dataclass(frozen=True)
class File:
    """``size`` is in bytes. ``damage`` is SQLite's first complaint. ``is_complete``: time sufficed."""

    size: int
    journal_mode: str
    damage: str | None
    is_complete: bool


@dataclass(frozen=True)
class Server:
    """The connected database and its server. ``size`` is in bytes, ``connections`` how many it takes."""

    version: str
    version_number: int
    size: int
    encoding: str
    collation: str
    synchronous_commit: str
    connections: int
    is_replica: bool


def inspect_file(url: str, seconds: float) -> File:
    """Look through the connected SQLite database for at most so long. Raises peewee's DatabaseError."""
    database.connect(reuse_if_open=True)
    (mode,) = database.execute_sql("PRAGMA journal_mode").fetchone()
    path = path_of(url)
    # With the journal, where the newest rows may be.
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
    """Ask the connected PostgreSQL. Raises peewee's DatabaseError."""
    with reading():
        return Server(*database.execute_sql(_LOOK).fetchone())
