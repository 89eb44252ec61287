"""Expressions that the two databases write differently."""

from collections.abc import Callable
from typing import Any

from peewee import SQL, Cast, Database, NodeList, PostgresqlDatabase, Select, Value, fn

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
