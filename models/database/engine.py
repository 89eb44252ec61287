"""The database of this process: connections for reading, and write transactions.

SQLite runs one write transaction at a time. So does PostgreSQL here, except for transactions that name the
keys they work on: see ``write``.

An event loop must not wait for a disk or a server: its work goes through ``commit``, ``read`` and
``in_pool``.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

from peewee import Database, DatabaseProxy
from playhouse.migrations import Runner

from models.database.postgresql import NotAloneError, PostgresEngine
from models.database.sqlite import SqliteEngine

MIGRATIONS = Path(__file__).parents[1] / "migrations"
CONNECTIONS = 10
# Threads that work for event loops, where SQLite's writer does not.
THREADS = 8

database = DatabaseProxy()

_engine: SqliteEngine | PostgresEngine | None = None
_pool = ThreadPoolExecutor(THREADS, "database")

Result = TypeVar("Result")


def connect(url: str, connections: int = CONNECTIONS) -> Database:
    """Point the models at the database behind ``url``, ``sqlite:///...`` or ``postgresql://...``.

    ``connections`` bounds the pool of this process on PostgreSQL; on SQLite each thread has its own.
    """
    global _engine  # noqa: PLW0603 - one database per process
    if _engine is not None:
        _engine.close()
    _engine = PostgresEngine(url, connections) if is_postgresql(url) else SqliteEngine(url)
    database.initialize(_engine.database)
    connected: Database = database.obj
    return connected


def is_postgresql(url: str) -> bool:
    """Whether a URL names a PostgreSQL database."""
    return url.startswith("postgresql://")


def answers_at_once() -> bool:
    """Whether a read takes only microseconds: true for SQLite, whose file is on this machine."""
    return isinstance(_engine, SqliteEngine)


def _current() -> SqliteEngine | PostgresEngine:
    if _engine is None:
        raise RuntimeError("models.database.connect() was not called")
    return _engine


@contextmanager
def reading() -> Iterator[None]:
    """A connection for reading."""
    with _current().reading():
        yield


@contextmanager
def writing() -> Iterator[None]:
    """One write transaction, alone among them; an inner one joins the outer one."""
    with _current().writing(None):
        yield


def write(work: Callable[[], Result], *keys: str) -> Result:
    """Run ``work`` in one write transaction, beside those of others that share none of its keys.

    ``work`` may read and write what the keys stand for, write rows of its own, and read what only
    transactions change that are alone. Where it comes to a ``writing()``, or to a key that is not among
    its own, it is begun anew, alone: so it keeps nothing from its first time. What it does before its first
    query it may do before the transaction has its keys.
    """
    engine = _current()
    try:
        with engine.writing(keys):
            return work()
    except NotAloneError:
        if database.in_transaction():
            raise
    with engine.writing(None):
        return work()


@contextmanager
def appending() -> Iterator[None]:
    """A transaction that only adds rows. On PostgreSQL it takes no lock, so it waits for no other."""
    with _current().appending():
        yield


async def commit(work: Callable[[], Result]) -> Result:
    """Run ``work``, which writes in transactions of its own. Returns when all of it is committed.

    ``work`` may run twice: other work in the same transaction may undo it. So it keeps nothing from its
    first time. Cancelling the caller does not stop it.
    """
    engine = _current()
    if isinstance(engine, SqliteEngine):
        return await engine.commit(work)
    return await in_pool(work)


async def read(work: Callable[[], Result]) -> Result:
    """Run ``work``, which only reads: at once on SQLite, where it takes microseconds, else in a thread."""
    if not answers_at_once():
        return await in_pool(work)
    with reading():
        return work()


async def in_pool(work: Callable[[], Result]) -> Result:
    """Run ``work`` in one of the threads for the database."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_pool, copy_context().run, work)


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    with _current().migrating():
        applied: list[str] = Runner(database.obj, str(MIGRATIONS)).up()
        return applied


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    with reading():
        return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]
