"""The database: one connection per thread, and write transactions that never deadlock.

SQLite runs in WAL mode. What was committed survives the end of any process; whether it survives a
power cut too is the operator's choice (docs/decisions/0004-sqlite-durability.md).
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from peewee import Database, DatabaseProxy, Model, SqliteDatabase
from playhouse.migrations import Runner

MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_TIMEOUT_SECONDS = 30
FULL = "synchronous=full"

database = DatabaseProxy()
_thread_lock = threading.RLock()
_lock_file: int | None = None  # a file descriptor, open for as long as the process runs


class BaseModel(Model):
    """A row of the gateway's database."""

    class Meta:
        database = database
        legacy_table_names = False


def connect(url: str) -> Database:
    """Point the models at the database behind ``url``.

    ``sqlite:///absolute/path``, percent-encoded. With ``?synchronous=full`` behind it each commit
    reaches the disk.
    """
    global _lock_file  # noqa: PLW0603 - one database per process
    parts = urlsplit(url)
    path = Path(unquote(parts.path))
    synchronous = "full" if parts.query == FULL else "normal"
    path.parent.mkdir(parents=True, exist_ok=True)
    if _lock_file is not None:
        os.close(_lock_file)
    _lock_file = os.open(path.with_name(f"{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
    database.initialize(
        SqliteDatabase(
            str(path),
            pragmas={
                "journal_mode": "wal",
                "synchronous": synchronous,
                "foreign_keys": 1,
                "cache_size": -16_000,
            },
            timeout=BUSY_TIMEOUT_SECONDS,
        )
    )
    connected: Database = database.obj
    return connected


@contextmanager
def reading() -> Iterator[None]:
    """A connection for reading. It belongs to the thread and stays open."""
    database.connect(reuse_if_open=True)
    yield


@contextmanager
def writing() -> Iterator[None]:
    """One write transaction; an inner one joins the outer one.

    It begins IMMEDIATE, because a read transaction that turns into a write one fails at once with
    SQLITE_BUSY. SQLite itself lets a second writer sleep for up to 100 ms between two looks at its
    lock, so writers queue up before it: the threads of a process at one lock, processes at another.
    """
    with _thread_lock:
        database.connect(reuse_if_open=True)
        if database.in_transaction():
            yield
            return
        with _process_lock(), database.atomic("IMMEDIATE"):
            yield


@contextmanager
def _process_lock() -> Iterator[None]:
    """A lock on a file beside the database. The kernel lets it go with the process that holds it."""
    if _lock_file is None:
        raise RuntimeError("models.database.connect() was not called")
    fcntl.flock(_lock_file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(_lock_file, fcntl.LOCK_UN)


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    database.connect(reuse_if_open=True)
    applied: list[str] = Runner(database.obj, str(MIGRATIONS)).up()
    return applied


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    database.connect(reuse_if_open=True)
    return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]
