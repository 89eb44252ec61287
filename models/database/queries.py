"""The queries and transactions of all models, and their base.

SQLite runs one write transaction at a time. So does PostgreSQL here, except for transactions that name the
keys they work on: see ``write``. An event loop must not wait for a disk or a server: its work goes through
``commit`` and ``read``.

Peewee takes several times as long to build the SQL of a query as SQLite takes to run it. So queries of each
request or callback are prepared: ordinary peewee queries with slots instead of values, built once.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, Generic, ParamSpec, Self, TypeVar

from peewee import (
    EXCLUDED,
    BooleanField,
    Database,
    DatabaseProxy,
    DoesNotExist,
    Insert,
    Model,
    Value,
)

from models.database.postgresql import LostError, NotAloneError, PostgresEngine
from models.database.sqlite import SqliteEngine

Engine = SqliteEngine | PostgresEngine
Result = TypeVar("Result")
Given = ParamSpec("Given")
Row = TypeVar("Row")

database = DatabaseProxy()

# When each thread last began to use the database, by time.monotonic().
_used_at: dict[int, float] = {}


class Waiting:
    """Work that waits for other threads, and how long none of it has ended.

    A job waits inside a ``with`` block, in any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs = 0
        self._at = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._jobs:
                self._at = time.monotonic()
            self._jobs += 1

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._jobs -= 1
            self._at = time.monotonic()

    def since(self) -> float | None:
        """Since when no job has ended, by time.monotonic(). None if none waits."""
        return self._at if self._jobs else None


# Those with keys have a thread of their own on PostgreSQL.
commits, shared_commits = Waiting(), Waiting()


def answers_at_once() -> bool:
    """Whether a read takes only microseconds: true on SQLite, whose file is on this machine."""
    return isinstance(database.obj, SqliteEngine)


def engine() -> Engine:
    """The database of this process."""
    progress()
    connected: Engine = database.obj
    return connected


def progress() -> None:
    """Note that this thread makes progress. Each use of the database does so."""
    _used_at[threading.get_ident()] = time.monotonic()


def last_progress(thread: int) -> float:
    """When a thread last made progress, by time.monotonic(). 0 if it never did."""
    return _used_at.get(thread, 0)


def reading() -> AbstractContextManager[None]:
    """A connection for reading."""
    return engine().reading()


def fetch(query: Any) -> list[Any]:
    """The rows of a query. It needs no reading() around it."""
    with reading():
        return list(query)


def reading_together() -> AbstractContextManager[None]:
    """A transaction that only reads, so that one server runs it all. Use it in a ``repeated`` function."""
    return engine().reading_together()


def writing() -> AbstractContextManager[None]:
    """One write transaction, exclusive of all others. A nested one joins the outer one."""
    return engine().writing(None)


def appending() -> AbstractContextManager[None]:
    """A transaction that only inserts rows. On PostgreSQL it takes no lock, so it never waits."""
    return engine().appending()


def repeated(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run a function, and again if the connection of its transaction is lost before the commit.

    So it must keep no state from its first run.
    """

    @wraps(work)
    def run(*given: Given.args, **named: Given.kwargs) -> Result:
        try:
            return work(*given, **named)
        except LostError:
            if database.in_transaction():
                raise
        return work(*given, **named)

    return run


@repeated
def write(work: Callable[[], Result], *keys: str) -> Result:
    """Run ``work`` in one write transaction. Transactions without a common key run concurrently.

    ``work`` may read and write the rows that the keys stand for, insert rows, and read rows that only
    exclusive transactions change, but not their columns of a lease (models.work). If it reaches a
    ``writing()``, or a key that it did not name, it is rolled back and run again in an exclusive transaction.
    If the connection is lost before the server reaches the commit, it is run again on a new one. So it must
    keep no state from its first run. Code before its first query may run before the transaction has its
    locks.
    """
    try:
        with engine().writing(keys):
            return work()
    except NotAloneError:
        if database.in_transaction():
            raise
    with writing():
        return work()


def exclusively(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run a function in one exclusive write transaction, or in that of its caller. It is ``repeated``."""

    @wraps(work)
    def run(*given: Given.args, **named: Given.kwargs) -> Result:
        with writing():
            return work(*given, **named)

    return repeated(run)


async def commit(work: Callable[[], Result], *keys: str) -> Result:
    """Run ``work``, which opens its own write transactions. Returns when all of it is committed.

    With the keys of all of them (see ``write``), it shares a transaction with other work that waits.

    ``work`` may run again: other work in the same transaction may roll it back, or its connection is lost
    before it commits anything. So it must keep no state from an earlier run. Cancelling the caller does not
    stop it.
    """
    with shared_commits if keys else commits:
        return await engine().run(work, keys)


def at_end(write: Callable[[Sequence[Row]], None], value: Row) -> None:
    """Call ``write`` with the value, inside the caller's transaction.

    If jobs share it, the call comes at its end and has the values of all jobs. So two such transactions can
    lock the same rows in the same order.
    """
    engine().at_end(write, value)


async def read(work: Callable[[], Result]) -> Result:
    """Run ``work``, which only reads: directly on SQLite, where it takes microseconds, else in a thread."""
    return await engine().read(work)


class _Place(int):
    """The index of the value that belongs here."""


@dataclass(slots=True)
class Rows(Generic[Row]):
    """The result of a query. Read it inside the same reading() or transaction.

    In a transaction on PostgreSQL the query is sent when this result or a later one is read, or with the
    commit. So several queries share one round trip.
    """

    answer: Any
    make: Callable[[Any], Row]

    def __iter__(self) -> Iterator[Row]:
        return iter([*map(self.make, self.answer.rows)])

    @property
    def count(self) -> int:
        """How many rows the query changed."""
        return int(self.answer.rowcount)


class Prepared:
    """A query that is built once. Its rows are tuples, or instances of ``model``, selected without joins.

    ``build`` gets a slot for each value. Slots belong in comparisons, assignments, limits and ``is_in``.
    Values must have the database's type: no field converts them.
    """

    def __init__(self, build: Callable[..., Any], model: type[Model] | None = None) -> None:
        self._build = build
        self._make = tuple if model is None else _maker(model)
        # The SQL by kind of database, with its parameters: slots and constants.
        self._known: dict[type[Database], tuple[str, list[Any]]] = {}

    def execute(self, *values: Any) -> Rows[Any]:
        """Run it with these values."""
        return Rows(database.obj.put(*self._with(values)), self._make)

    def execute_many(self, rows: Sequence[Sequence[Any]]) -> int:
        """Run a change with each row, in the caller's transaction. Returns how many rows changed."""
        if not rows:
            return 0
        sql, places = self._known_by(database.obj, len(rows[0]))
        return engine().put_many(sql, [_at(places, values) for values in rows])

    def read(self, *values: Any) -> Iterator[Any]:
        """Run it and read its rows. It needs no reading() around it."""
        return map(self._make, engine().fetch(*self._with(values)))

    def first(self, *values: Any) -> Any | None:
        """The first row, or None. It needs no reading() around it."""
        return next(self.read(*values), None)

    def _with(self, values: Sequence[Any]) -> tuple[str, list[Any]]:
        """The SQL and its parameters."""
        sql, places = self._known_by(database.obj, len(values))
        return sql, _at(places, values)

    def _known_by(self, connected: Any, count: int) -> tuple[str, list[Any]]:
        return self._known.get(type(connected)) or self._prepare(connected, count)

    def _prepare(self, connected: Any, count: int) -> tuple[str, list[Any]]:
        query = self._build(*(Value(_Place(number), converter=False) for number in range(count)))
        if isinstance(query, Insert):
            # No key is read back.
            query = query.returning()
        made = connected.get_sql_context().sql(query).query()
        return self._known.setdefault(type(connected), made)


def _at(places: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The parameters: the values at their places, and the constants."""
    return [values[at] if isinstance(at, _Place) else at for at in places]


def _maker(model: type[Model]) -> Callable[[Any], Model]:
    """The function that makes an instance of a row."""
    fields = model._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
    names = [field.name for field in fields]
    flags = [field.name for field in fields if isinstance(field, BooleanField)]

    def make(row: Any) -> Model:
        made = model(__no_default__=1)
        made.__data__.update(zip(names, row, strict=True))
        for name in flags:
            # SQLite keeps truth as a number.
            made.__data__[name] = bool(made.__data__[name])
        return made

    return make


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
        key: Any = cls._meta.primary_key
        return matching(cls, key.name).first(pk)

    @exclusively
    def amend(self, **values: Any) -> None:
        """Change these columns of the row."""
        for name, value in values.items():
            setattr(self, name, value)
        self.save(only=list(values))

    def assign(self, changes: Mapping[str, Any]) -> None:
        """Change these columns inside the caller's transaction, by a prepared query."""
        if changes:
            key: Any = self._meta.primary_key
            values = self.__data__[key.name], *changes.values()
            _assign(type(self), *changes).execute(*values)
            self.__data__.update(changes)

    @classmethod
    def assign_many(cls, changed: Iterable[tuple[Self, Mapping[str, Any]]]) -> None:
        """Like ``assign`` for each row with its changes, in few statements."""
        key: Any = cls._meta.primary_key
        values: dict[tuple[str, ...], list[Any]] = {}
        for row, changes in changed:
            if changes:
                new = row.__data__[key.name], *changes.values()
                values.setdefault(tuple(changes), []).append(new)
                row.__data__.update(changes)
        for names, rows in values.items():
            _assign(cls, *names).execute_many(rows)

    @classmethod
    def create(cls, *, once: bool = False, **values: Any) -> Self:
        """Insert a row. With ``once``, do nothing if another row has the same unique value.

        A key that the database generates is not read back.
        """
        row = cls(**values)
        data, fields = row.__data__, cls._meta.fields
        insert = _insert(cls, tuple(data), once=once)
        insert.execute(*(fields[name].db_value(data[name]) for name in data))
        return row


@cache
def matching(model: type[BaseModel], *names: str) -> Prepared:
    """The rows with these values of their columns."""
    fields = [getattr(model, name) for name in names]
    return Prepared(
        lambda *values: model.select().where(
            *(f == v for f, v in zip(fields, values, strict=True))
        ),
        model,
    )


def adding(model: type[BaseModel], *counts: str) -> Prepared:
    """Add to these columns of a row, or insert it. Its values are the primary key and what to add."""
    meta: Any = model._meta  # noqa: SLF001 - peewee's documented attribute
    key = [meta.fields[name] for name in meta.primary_key.field_names]
    counted = [meta.fields[name] for name in counts]
    return Prepared(
        lambda *values: model.insert(dict(zip([*key, *counted], values, strict=True))).on_conflict(
            conflict_target=key,
            update={field: field + getattr(EXCLUDED, field.name) for field in counted},
        )
    )


@cache
def _assign(model: type[BaseModel], *names: str) -> Prepared:
    key = model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
    return Prepared(
        lambda wanted, *values: model.update(dict(zip(names, values, strict=True))).where(
            key == wanted
        )
    )


@cache
def _insert(model: type[BaseModel], names: Sequence[str], *, once: bool) -> Prepared:
    def build(*slots: Any) -> Any:
        insert = model.insert(dict(zip(names, slots, strict=True)))
        return insert.on_conflict_ignore() if once else insert

    return Prepared(build)
