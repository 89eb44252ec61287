"""The base of all models, and queries whose SQL is made once.

To make the SQL of a query takes peewee several times as long as SQLite needs for the answer. A prepared query
is an ordinary peewee query with slots in place of its values. Queries that run with each request or callback
are prepared.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, Self, TypeVar

from peewee import (
    SQL,
    BooleanField,
    Cast,
    Database,
    DoesNotExist,
    Insert,
    Model,
    ModelSelect,
    PostgresqlDatabase,
    Select,
    Value,
    fn,
)

from models.database.engine import database, reading, writing

Row = TypeVar("Row")
Instance = TypeVar("Instance", bound=Model)


class _Place(int):
    """Which of the given values belongs here."""


class Rows(Generic[Row]):
    """The rows of a query. Read them inside the same reading() or transaction.

    In a transaction on PostgreSQL the query is sent when this result or a later one is read, or with the
    commit: several queries take one round trip.
    """

    def __init__(self, answer: Any, make: Callable[[Any], Row]) -> None:
        self._answer = answer
        self._make = make

    def __iter__(self) -> Iterator[Row]:
        return map(self._make, self._answer.fetchall())

    def first(self) -> Row | None:
        """The first row, or None."""
        return next(iter(self), None)

    @property
    def count(self) -> int:
        """How many rows the query changed."""
        return int(self._answer.rowcount)


class Prepared:
    """A query whose rows are tuples, or that changes rows.

    ``build`` takes a slot for each of its parameters, or ``slots`` of them. Slots belong into comparisons,
    assignments, limits, and ``is_in``. The values come as the database takes them: no field converts them.
    """

    def __init__(self, build: Callable[..., Any], slots: int | None = None) -> None:
        self._build = build
        self._arity = len(inspect.signature(build).parameters) if slots is None else slots
        # One SQL for each kind of database, and what it is to be given: places and constants.
        self._known: dict[type[Database], tuple[str, list[Any]]] = {}

    def execute(self, *values: Any) -> Rows[Any]:
        """Run it with these values."""
        return Rows(self._put(values), tuple)

    def _put(self, values: Sequence[Any]) -> Any:
        connected = database.obj
        sql, places = self._known.get(type(connected)) or self._prepare(connected)
        return connected.put(sql, [values[at] if isinstance(at, _Place) else at for at in places])

    def _prepare(self, connected: Any) -> tuple[str, list[Any]]:
        slots = [Value(_Place(number), converter=False) for number in range(self._arity)]
        query = self._build(*slots)
        if isinstance(query, Insert):
            # No key is read back.
            query = query.returning()
        known: tuple[str, list[Any]] = connected.get_sql_context().sql(query).query()
        self._known[type(connected)] = known
        return known


class PreparedSelect(Prepared, Generic[Instance]):
    """A query that selects whole rows of one model, without joins."""

    def __init__(
        self, model: type[Instance], build: Callable[..., "ModelSelect[Instance]"]
    ) -> None:
        super().__init__(build)
        self._model = model
        fields = model._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
        self._names = [field.name for field in fields]
        self._flags = [field.name for field in fields if isinstance(field, BooleanField)]

    def execute(self, *values: Any) -> Rows[Instance]:
        """Run it with these values."""
        return Rows(self._put(values), self._instance)

    def _instance(self, row: Any) -> Instance:
        made = self._model(__no_default__=1)
        made.__data__.update(zip(self._names, row, strict=True))
        for name in self._flags:
            # SQLite keeps truth as a number.
            made.__data__[name] = bool(made.__data__[name])
        return made


def is_in(field: Any, values: Any) -> Any:
    """The condition that a text field is in a list, which fills one slot whatever its length."""
    if isinstance(database.obj, PostgresqlDatabase):
        # With the list itself behind ANY, PostgreSQL would plan the query anew each time.
        return field == fn.ANY(fn.ARRAY(Select([], [fn.unnest(Cast(values, "text[]"))])))
    return field.in_(Select([fn.json_each(values)], [SQL("value")]))


def is_among(field: Any, chosen: Any) -> Any:
    """The condition that a field is in the rows of a query, which runs once.

    PostgreSQL may run a subquery behind IN for each row. It builds an array only once.
    """
    if isinstance(database.obj, PostgresqlDatabase):
        return field == fn.ANY(fn.ARRAY(chosen))
    return field.in_(chosen)


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
            found: Self | None = _by_key(cls).execute(pk).first()
            return found

    def amend(self, **values: Any) -> None:
        """Change these columns of the row."""
        with writing():
            for name, value in values.items():
                setattr(self, name, value)
            self.save(only=list(values))

    @classmethod
    def create(cls, *, once: bool = False, **values: Any) -> Self:
        """Write a row; if ``once``, unless another row has the same unique value.

        A key that the database generates is not read back.
        """
        row = cls(**values)
        data, fields = row.__data__, cls._meta.fields
        insert = _insert(cls, tuple(data), once=once)
        insert.execute(*(fields[name].db_value(data[name]) for name in data))
        return row


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
