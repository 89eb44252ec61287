"""The database, whichever it is: connections for reading, and write transactions.

SQLite has one writer at a time, so a write transaction is alone with the data. So is it on PostgreSQL,
unless it says by its keys what it works on: see ``write``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from peewee import Database, DoesNotExist, Model
from playhouse.migrations import Runner

from models.postgresql import NotAloneError, PostgresEngine
from models.prepared import Prepared, PreparedSelect
from models.proxy import database
from models.sqlite import SqliteEngine

__all__ = [
    "BaseModel",
    "appending",
    "connect",
    "database",
    "is_postgresql",
    "migrate",
    "pending_migrations",
    "reading",
    "write",
    "writing",
]

MIGRATIONS = Path(__file__).parent / "migrations"
CONNECTIONS = 10

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
        row = cls.by_id(pk)
        if row is None:
            raise DoesNotExist(f"{cls.__name__} {pk}")
        return row

    @classmethod
    def by_id(cls, pk: str | None) -> Self | None:
        """The row with this key, or None."""
        with reading():
            found: Self | None = _by_key(cls).first(pk)
            return found

    @classmethod
    def create(cls, **values: Any) -> Self:
        """Write a row. A number that the database gives it as its key is not read back."""
        row = cls(**values)
        insert, data = row._insertion(once=False)
        insert.put(*data)
        return row

    @classmethod
    def create_once(cls, **values: Any) -> Self:
        """Write a row, unless there is one already with something that is unique."""
        row = cls(**values)
        insert, data = row._insertion(once=True)
        insert.put(*data)
        return row

    def _insertion(self, *, once: bool) -> tuple[Prepared, list[Any]]:
        data, fields = self.__data__, self._meta.fields
        insert = _insert(type(self), tuple(data), once=once)
        return insert, [fields[name].db_value(data[name]) for name in data]


@cache
def _by_key(model: type[BaseModel]) -> PreparedSelect[Any]:
    key = model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
    return PreparedSelect(model, lambda wanted: model.select().where(key == wanted))


@cache
def _insert(model: type[BaseModel], names: Sequence[str], *, once: bool) -> Prepared:
    def build(*slots: Any) -> Any:
        insert = model.insert(dict(zip(names, slots, strict=True)))
        return insert.on_conflict_ignore() if once else insert

    return Prepared(build, len(names))


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
    """Whether to read a row takes microseconds: SQLite's file is on this machine."""
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
    """A transaction that writes rows no other one has asked for. It waits for none of them on PostgreSQL."""
    with _current().appending():
        yield


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    with _current().migrating():
        applied: list[str] = Runner(database.obj, str(MIGRATIONS)).up()
        return applied


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    with reading():
        return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]
