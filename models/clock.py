"""The time as the database keeps it, and identifiers that sort by it.

Times are whole milliseconds since the Unix epoch, UTC. On PostgreSQL the time is the server's, because hosts
may disagree. On SQLite it is this machine's, without its jumps (models.database.wall_clock). An identifier is
a prefix that names the kind of resource, and a ULID.
"""

from typing import Any

from peewee import SQL, Cast, PostgresqlDatabase, Select
from ulid import ULID, ULIDGenerator

from models.database import Prepared, database, reading
from models.database.server_time import server_time
from models.database.wall_clock import steady, wall_clock

_TIME_CHARACTERS = 10
# Constant within a statement, so that a comparison with it can use an index.
SERVER_TIME = SQL("(extract(epoch FROM statement_timestamp()) * 1000)::bigint")
# The same clock as created_at, so that the identifier holds the time of its row.
_generator = ULIDGenerator(clock=lambda: now())  # noqa: PLW0108 - looked up at each call


def now() -> int:
    """The current time in milliseconds since the epoch."""
    offset = server_time.offset
    return wall_clock.now() if offset is None else steady() + offset


def certain() -> int:
    """The earliest that the time can be. Rows are deleted by it, and keys, links and sessions expire."""
    return now() if is_confirmed() else min(now(), wall_clock.certain())


def is_confirmed() -> bool:
    """Whether the time is certain. While it is not, nothing is deleted for its age."""
    return server_time.offset is not None or wall_clock.is_confirmed


def shared(here: Any) -> Any:
    """In a query, the time by which work is claimed: the server's on PostgreSQL, ``here`` on SQLite."""
    return SERVER_TIME if isinstance(database.obj, PostgresqlDatabase) else Cast(here, "bigint")


_SHARED = Prepared(lambda here: Select([], [shared(here)]))


def shared_now() -> int:
    """The time by which work is claimed, in milliseconds since the epoch."""
    with reading():
        [(found,)] = _SHARED.execute(now())
        return int(found)


def new_id(prefix: str) -> str:
    """A new identifier such as ``msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C``."""
    return f"{prefix}_{_generator.generate()}"


def id_bound(prefix: str, at: int) -> str:
    """A lower bound of all identifiers made at ``at`` or later. Earlier ones are below it.

    So a bound in time can use the index of the identifiers.
    """
    time_part = max(0, at).to_bytes(6, "big")
    return f"{prefix}_{str(ULID(time_part + bytes(10)))[:_TIME_CHARACTERS]}"
