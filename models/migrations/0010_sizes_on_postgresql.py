"""On PostgreSQL text has no length, and the rows that are counted do not run out of numbers.

SQLite minds neither. A text of 255 characters would be the contract's word for what is long enough, and
the platform's own words may be longer. Four bytes would number the steps of half a billion messages.
"""

from typing import Any

from peewee import Database, PostgresqlDatabase

LIMITED = (
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = current_schema() AND character_maximum_length IS NOT NULL "
    "ORDER BY table_name, column_name"
)
COUNTED = ("status_change", "idempotency_key")


def up(_migrator: object, db: Database) -> None:
    if not isinstance(db, PostgresqlDatabase):
        return
    execute: Any = db.execute_sql
    for table, column in execute(LIMITED).fetchall():
        execute(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" TYPE varchar')
    for table in COUNTED:
        execute(f'ALTER TABLE "{table}" ALTER COLUMN id TYPE bigint')
        execute(f'ALTER SEQUENCE "{table}_id_seq" AS bigint')
