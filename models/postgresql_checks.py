"""How a PostgreSQL database is: what of its server and its own settings the gateway depends on."""

from dataclasses import dataclass

from models.database import database, reading

# The oldest whose behaviour is counted on, as PostgreSQL numbers itself.
OLDEST_VERSION = 130_000

_LOOK = """
SELECT split_part(current_setting('server_version'), ' ', 1),
       current_setting('server_version_num')::int,
       pg_database_size(oid),
       pg_encoding_to_char(encoding),
       datcollate,
       current_setting('synchronous_commit'),
       current_setting('max_connections')::int
           - current_setting('superuser_reserved_connections')::int,
       pg_is_in_recovery()
FROM pg_database WHERE datname = current_database()
"""


@dataclass(frozen=True)
class Server:
    """The connected database and its server. ``size`` is in bytes, ``connections`` how many it takes.

    A replica refuses to be written to.
    """

    version: str
    version_number: int
    size: int
    encoding: str
    collation: str
    synchronous_commit: str
    connections: int
    is_replica: bool

    @property
    def is_too_old(self) -> bool:
        """Whether its version is not supported any more."""
        return self.version_number < OLDEST_VERSION


def examine() -> Server:
    """Ask the connected database; nothing is changed. Raises peewee's DatabaseError."""
    with reading():
        row = database.execute_sql(_LOOK).fetchone()
    return Server(*row)
