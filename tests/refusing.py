"""A database that temporarily refuses certain rows."""

from collections.abc import Iterator
from contextlib import contextmanager

from peewee import PostgresqlDatabase

from models.database import database, writing

_ON_SQLITE = """
CREATE TRIGGER refuse BEFORE {event} ON {table} WHEN {when}
BEGIN SELECT RAISE(ABORT, 'refused'); END
"""
_ON_POSTGRESQL = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF {when} THEN RAISE EXCEPTION 'refused'; END IF;
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER refuse BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@contextmanager
def refusing(event: str, table: str, when: str = "true") -> Iterator[None]:
    """Each INSERT, UPDATE or DELETE of a row for which ``when`` holds fails with "refused".

    ``when`` is SQL, in which NEW is the row.
    """
    is_postgresql = isinstance(database.obj, PostgresqlDatabase)
    trigger = _ON_POSTGRESQL if is_postgresql else _ON_SQLITE
    _run(trigger.format(event=event, table=table, when=when))
    try:
        yield
    finally:
        _run("DROP FUNCTION refuse CASCADE" if is_postgresql else "DROP TRIGGER refuse")


def _run(statement: str) -> None:
    with writing():
        database.execute_sql(statement)
