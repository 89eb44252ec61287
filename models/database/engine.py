"""The database of this process: connections for reading, and write transactions.

SQLite runs one write transaction at a time. So does PostgreSQL here, except for transactions that name the
keys they work on: see ``write``.

An event loop must not wait for a disk or a server: its work goes through ``commit`` and ``read``.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from peewee import DatabaseProxy
from playhouse.migrations import Runner

from models.database.postgresql import NotAloneError, PostgresEngine
from models.database.sqlite import SqliteEngine

MIGRATIONS, FIRST = Path(__file__).parents[1] / "migrations", "0001_schema"

Engine = SqliteEngine | PostgresEngine
Result = TypeVar("Result")

database = DatabaseProxy()


def connect(url: str, connections: int = 10) -> Engine:
    """Point the models at the database behind ``url``, ``sqlite:///...`` or ``postgresql://...``.

    ``connections`` bounds the pool of this process on PostgreSQL; on SQLite each thread has its own.
    """
    if database.obj is not None:
        database.obj.close_all()
    engine = PostgresEngine(url, connections) if is_postgresql(url) else SqliteEngine(url)
    database.initialize(engine)
    return engine


def is_postgresql(url: str) -> bool:
    """Whether a URL names a PostgreSQL database."""
    return url.startswith("postgresql://")


def answers_at_once() -> bool:
    """Whether a read takes only microseconds: true for SQLite, whose file is on this machine."""
    return isinstance(database.obj, SqliteEngine)


def _engine() -> Engine:
    engine: Engine = database.obj
    return engine


def reading() -> AbstractContextManager[None]:
    """A connection for reading."""
    return _engine().reading()


def writing() -> AbstractContextManager[None]:
    """One write transaction, alone among them; an inner one joins the outer one."""
    return _engine().writing(None)


def appending() -> AbstractContextManager[None]:
    """A transaction that only adds rows. On PostgreSQL it takes no lock, so it waits for no other."""
    return _engine().appending()


def write(work: Callable[[], Result], *keys: str) -> Result:
    """Run ``work`` in one write transaction, beside those of others that share none of its keys.

    ``work`` may read and write what the keys stand for, write rows of its own, and read what only
    transactions change that are alone. Where it comes to a ``writing()``, or to a key that is not among
    its own, it is begun anew, alone: so it keeps nothing from its first time. What it does before its first
    query it may do before the transaction has its keys.
    """
    try:
        with _engine().writing(keys):
            return work()
    except NotAloneError:
        if database.in_transaction():
            raise
    with writing():
        return work()


async def commit(work: Callable[[], Result]) -> Result:
    """Run ``work``, which writes in transactions of its own. Returns when all of it is committed.

    ``work`` may run twice: other work in the same transaction may undo it. So it keeps nothing from its
    first time. Cancelling the caller does not stop it.
    """
    return await _engine().run(work)


async def read(work: Callable[[], Result]) -> Result:
    """Run ``work``, which only reads: at once on SQLite, where it takes microseconds, else in a thread."""
    return await _engine().read(work)


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    with _engine().migrating():
        runner = Runner(database.obj, str(MIGRATIONS))
        if runner.applied():
            return list(runner.up())
        # The first makes the present schema, on which the others would fail.
        with writing():
            return [*runner.up(FIRST), *runner.fake()]


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    with reading():
        return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]
