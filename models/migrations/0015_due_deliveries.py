"""What is due is found apart from what waits for a retry, so that many waiting webhooks delay no claim.

A webhook's url is on trial until it has answered 2xx. Existing webhooks are not. The first claims make
existing deliveries due.
"""

from typing import Any

from peewee import (
    SQL,
    BigIntegerField,
    BooleanField,
    CharField,
    Database,
    Model,
    PostgresqlDatabase,
)
from playhouse.migrate import SchemaMigrator


def up(_migrator: SchemaMigrator, db: Database) -> None:
    class Delivery(Model):
        id = CharField(primary_key=True)
        webhook_id = CharField()
        next_attempt_at = BigIntegerField(null=True)
        due = BooleanField()

        class Meta:
            database = db
            table_name = "delivery"

    # Without a copy of the table, which the migrator would make on SQLite.
    on_postgresql = isinstance(db, PostgresqlDatabase)
    flag, time = ("BOOLEAN", "BIGINT") if on_postgresql else ("INTEGER", "INTEGER")
    execute: Any = db.execute_sql
    execute(f"ALTER TABLE delivery ADD COLUMN due {flag} NOT NULL DEFAULT false")
    execute(f"ALTER TABLE webhook ADD COLUMN trial_minute_at {time}")
    execute("ALTER TABLE webhook ADD COLUMN trial_events INTEGER NOT NULL DEFAULT 0")
    for columns, where, name in (
        ((Delivery.webhook_id, Delivery.next_attempt_at), "due", "due"),
        ((Delivery.webhook_id,), "due AND tries > 0", "due_again"),
        ((Delivery.next_attempt_at,), "state = 'pending' AND NOT due", "waiting"),
    ):
        Delivery.add_index(Delivery.index(*columns, where=SQL(where), name=f"delivery_{name}"))
    db.create_tables([Delivery])
