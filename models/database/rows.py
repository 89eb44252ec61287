"""The base of all models, and prepared queries, whose SQL is built once.

Peewee takes several times as long to build the SQL of a query as SQLite takes to run it. A prepared query is
an ordinary peewee query with slots instead of values. Queries of each request or callback are prepared.
"""

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
    PostgresqlDatabase,
    Select,
    Value,
    fn,
)

from models.database.engine import database, exclusively, reading

Row = TypeVar("Row")


class _Place(int):
    """The index of the value that belongs here."""


class Rows(Generic[Row]):
    """The result of a query. Read it inside the same reading() or transaction.

    In a transaction on PostgreSQL the query is sent when this result or a later one is read, or with the
    commit. So several queries share one round trip.
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
        connected = database.obj
        sql, places = self._known.get(type(connected)) or self._prepare(connected, len(values))
        given = [values[at] if isinstance(at, _Place) else at for at in places]
        return Rows(connected.put(sql, given), self._make)

    def _prepare(self, connected: Any, count: int) -> tuple[str, list[Any]]:
        query = self._build(*(Value(_Place(number), converter=False) for number in range(count)))
        if isinstance(query, Insert):
            # No key is read back.
            query = query.returning()
        made = connected.get_sql_context().sql(query).query()
        return self._known.setdefault(type(connected), made)


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


def is_in(field: Any, values: Any) -> Any:
    """The condition that a text field is in a list. A list of any length fills one slot."""
    if isinstance(database.obj, PostgresqlDatabase):
        # With the list itself behind ANY, PostgreSQL would plan the query at each execution.
        return field == fn.ANY(fn.ARRAY(Select([], [fn.unnest(Cast(values, "text[]"))])))
    return field.in_(Select([fn.json_each(values)], [SQL("value")]))


def is_among(field: Any, chosen: Any) -> Any:
    """The condition that a field is in the result of a query, which runs once.

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
            return _by_key(cls).execute(pk).first()

    @exclusively
    def amend(self, **values: Any) -> None:
        """Change these columns of the row."""
        for name, value in values.items():
            setattr(self, name, value)
        self.save(only=list(values))

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
def _by_key(model: type[BaseModel]) -> Prepared:
    key = model._meta.primary_key  # noqa: SLF001 - peewee's documented attribute
    return Prepared(lambda wanted: model.select().where(key == wanted), model)


@cache
def _insert(model: type[BaseModel], names: Sequence[str], *, once: bool) -> Prepared:
    def build(*slots: Any) -> Any:
        insert = model.insert(dict(zip(names, slots, strict=True)))
        return insert.on_conflict_ignore() if once else insert

    return Prepared(build)
