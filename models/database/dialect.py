"""Expressions that the two databases write differently."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from peewee import JOIN, SQL, Cast, Database, NodeList, PostgresqlDatabase, Select, Value, fn

from models import clock
from models.database.postgresql import PostgresEngine
from models.database.queries import Prepared, database
from models.database.sqlite import SqliteEngine

# Constant within a statement, so that a comparison with it can use an index.
SERVER_TIME = SQL("(extract(epoch FROM statement_timestamp()) * 1000)::bigint")
# The time by which work is claimed.
CLOCKS: dict[type[Database], Callable[[Any], Any]] = {
    PostgresEngine: lambda _: SERVER_TIME,
    SqliteEngine: lambda here: Cast(here, "bigint"),
}


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


def having_one(query: Any, field: Any, values: Any) -> Any:
    """The rows of a query whose text field is in a list, if an index has the field after the query's columns.

    While a table is small, PostgreSQL may plan to read all rows of the query, and keep that plan when there
    are many. So it looks up each value by itself, which it cannot plan in another way.
    """
    if not isinstance(database.obj, PostgresqlDatabase):
        return query.where(is_in(field, values))
    unnested = fn.unnest(Cast(values, "text[]")).alias("value")
    wanted = Select([], [unnested]).distinct().alias("wanted")
    found = query.where(field == wanted.c.value).offset(0).alias("found")
    columns = [getattr(found.c, each.column_name) for each in query.selected_columns]
    return Select([wanted], columns).join(found, JOIN.LATERAL, on=SQL("true"))


def many_rows(rows: Sequence[Sequence[Any]], columns: Mapping[str, str]) -> tuple[str, list[Any]]:
    """The part of an INSERT with these rows, at least one, and its values. ``columns`` are names with types.

    PostgreSQL takes several times as long to read thousands of values as one document.
    """
    if isinstance(database.obj, PostgresqlDatabase):
        typed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        document = orjson.dumps([dict(zip(columns, row, strict=True)) for row in rows]).decode()
        # S608: the names of our own columns.
        return f"SELECT * FROM json_to_recordset(%s::json) AS row ({typed})", [document]  # noqa: S608
    places = f"({', '.join('?' * len(columns))})"
    return f"VALUES {', '.join([places] * len(rows))}", [value for row in rows for value in row]


def contains(field: Any, part: str | bytes) -> Any:
    """The condition that a text or binary field contains a part, in the same case."""
    wanted = Value(part, converter=False)
    if isinstance(database.obj, PostgresqlDatabase):
        return NodeList((SQL("position("), wanted, SQL("IN"), field, SQL(") > 0")))
    return fn.INSTR(field, wanted) > 0


def database_time(here: Any) -> Any:
    """The time by which work is claimed: the server's on PostgreSQL, ``here`` on SQLite."""
    return CLOCKS[type(database.obj)](here)


_NOW = Prepared(lambda here: Select([], [database_time(here)]))


def database_now() -> int:
    """The time by which work is claimed, in milliseconds since the epoch."""
    [(found,)] = _NOW.read(clock.now())
    return int(found)
