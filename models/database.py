"""The database, whichever it is: connections for reading, and write transactions.

SQLite has one writer at a time, so a write transaction is alone with the data. So is it on PostgreSQL,
unless it says by its keys what it works on: see ``write``.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from peewee import Database, DatabaseProxy, Model
from playhouse.migrations import Runner

from models.postgresql import NotAloneError, PostgresEngine
from models.sqlite import SqliteEngine

MIGRATIONS = Path(__file__).parent / "migrations"
CONNECTIONS = 10

database = DatabaseProxy()
_engine: SqliteEngine | PostgresEngine | None = None

Result = TypeVar("Result")


class BaseModel(Model):
    """A row of the gateway's database."""

    class Meta:
        database = database
        legacy_table_names = False

    @classmethod
    def get_by_id(cls, pk: str | None) -> Self:
        """The row with this key. Raises DoesNotExist."""
        with reading():
            row: Self = super().get_by_id(pk)
            return row


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
    its own, it is begun anew, alone: so it keeps nothing from its first time.
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


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    with _current().migrating():
        applied: list[str] = Runner(database.obj, str(MIGRATIONS)).up()
        return applied


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    with reading():
        return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]
