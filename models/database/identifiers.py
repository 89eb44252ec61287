"""The order of identifiers in PostgreSQL, which must be that of their bytes, as in Python and in SQLite.

Feeds, pages and retention compare identifiers with bounds in time. A database whose locale sorts a pair of
letters as one, or letters in another order, would skip or delete rows. There the columns of identifiers have
the collation C. In other databases they stay as they are.
"""

from typing import Any, NamedTuple

from peewee import PostgresqlDatabase
from ulid.base32 import ENCODE

# The columns of identifiers with the collation of the database, as parts of an ALTER TABLE. No rows if that
# one sorts all pairs of digits by their bytes.
_UNSORTED = """
SELECT format('%%I', relname),
       string_agg(format('ALTER %%I TYPE %%s COLLATE "C"', attname, format_type(atttypid, atttypmod)), ', '),
       bool_or(reltuples > 0)
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = quote_ident(current_schema())::regnamespace
    AND relkind IN ('r', 'p') AND pg_has_role(relowner, 'USAGE')
    AND attnum > 0 AND NOT attisdropped
    AND (attname = 'id' OR right(attname::text, 3) = '_id')
    AND attcollation = 'pg_catalog."default"'::regcollation
    AND NOT (
        SELECT array_agg(pair ORDER BY pair) = array_agg(pair ORDER BY pair COLLATE "C") FROM (
            SELECT a || b FROM regexp_split_to_table(%s, '') AS a, regexp_split_to_table(%s, '') AS b
        ) AS pairs(pair)
    )
GROUP BY relname ORDER BY relname
"""
# A session with a plan from before would fail with each use of it.
_END_OTHERS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user
    AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class Table(NamedTuple):
    """A table, the actions of an ALTER TABLE that correct its order, and whether it was ever analyzed."""

    name: str
    actions: str
    has_statistics: bool


def unsorted(connected: Any) -> list[Table]:
    """The tables whose identifiers sort wrongly."""
    on_postgresql = isinstance(connected, PostgresqlDatabase)
    if not on_postgresql:
        return []
    found = connected.execute_sql(_UNSORTED, [ENCODE, ENCODE]).fetchall()
    return [Table(*row) for row in found]


def sort_by_bytes(connected: Any) -> None:
    """Have PostgreSQL sort all identifiers by their bytes. Call it in an exclusive transaction."""
    tables = unsorted(connected)
    if not tables:
        return
    # All at once, so that a deadlock with a reader ends before the work begins.
    connected.execute_sql(f"LOCK TABLE {', '.join(table.name for table in tables)}")
    for table in tables:
        connected.execute_sql(f"ALTER TABLE {table.name} {table.actions}")
        if table.has_statistics:
            # Those of the columns are gone.
            connected.execute_sql(f"ANALYZE {table.name}")
    connected.execute_sql(_END_OTHERS).fetchall()
    connected.connection().forget_statements()
