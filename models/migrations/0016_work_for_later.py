"""Callbacks and checks of numbers are claimed like deliveries: with a lease, and their attempts counted."""

from typing import Any

from peewee import SQL, BigIntegerField, CharField, Database, Model, PostgresqlDatabase
from playhouse.migrate import SchemaMigrator


def up(_migrator: SchemaMigrator, db: Database) -> None:
    class Callback(Model):
        id = CharField(primary_key=True)
        due_at = BigIntegerField(null=True)

        class Meta:
            database = db

    on_postgresql = isinstance(db, PostgresqlDatabase)
    time, text = ("BIGINT", "VARCHAR") if on_postgresql else ("INTEGER", "VARCHAR(255)")
    execute: Any = db.execute_sql
    execute(f"ALTER TABLE callback ADD COLUMN due_at {time}")
    execute(f"ALTER TABLE callback ADD COLUMN lease_token {text}")
    execute("ALTER TABLE number ADD COLUMN check_tries INTEGER NOT NULL DEFAULT 0")
    execute("UPDATE callback SET due_at = 0, tries = 0 WHERE ingested_at IS NULL")
    due = SQL("due_at IS NOT NULL")
    Callback.add_index(Callback.index(Callback.due_at, Callback.id, where=due, name="callback_due"))
    db.create_tables([Callback])
