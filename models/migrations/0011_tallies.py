"""Totals of lists are kept by triggers, for no list is to count its rows; and two indexes for rare rows.

A trigger sees every change, also those that the database makes itself when a webhook is deleted. On
PostgreSQL it runs once for each statement: a row that one statement changed a million times would be
there in a million versions. The models here are frozen copies.
"""

from typing import Any

from peewee import (
    SQL,
    BigIntegerField,
    CharField,
    CompositeKey,
    Database,
    IntegerField,
    Model,
    PostgresqlDatabase,
    TextField,
)

TALLIES = {
    "message": ("account_id", "number_id", "direction", "status"),
    "delivery": ("webhook_id", "event_kind", "state"),
}

ON_SQLITE = (
    """
    CREATE TRIGGER {table}_tally_in AFTER INSERT ON {table} BEGIN
        INSERT INTO {table}_tally ({key}, shard, total) VALUES ({new}, 0, 1)
        ON CONFLICT ({key}, shard) DO UPDATE SET total = total + 1;
    END
    """,
    """
    CREATE TRIGGER {table}_tally_out AFTER DELETE ON {table} BEGIN
        UPDATE {table}_tally SET total = total - 1 WHERE ({key}, shard) = ({old}, 0);
    END
    """,
    """
    CREATE TRIGGER {table}_tally_move AFTER UPDATE OF {moves} ON {table}
    WHEN OLD.{moves} <> NEW.{moves} BEGIN
        UPDATE {table}_tally SET total = total - 1 WHERE ({key}, shard) = ({old}, 0);
        INSERT INTO {table}_tally ({key}, shard, total) VALUES ({new}, 0, 1)
        ON CONFLICT ({key}, shard) DO UPDATE SET total = total + 1;
    END
    """,
)

ON_POSTGRESQL = (
    """
    CREATE FUNCTION {table}_tally_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO {table}_tally ({key}, shard, total)
            SELECT {key}, pg_backend_pid(), COUNT(*) FROM added GROUP BY {key}
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total + EXCLUDED.total;
        ELSIF TG_OP = 'DELETE' THEN
            INSERT INTO {table}_tally ({key}, shard, total)
            SELECT {key}, pg_backend_pid(), -COUNT(*) FROM removed GROUP BY {key}
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total + EXCLUDED.total;
        ELSE
            INSERT INTO {table}_tally ({key}, shard, total)
            SELECT {key}, pg_backend_pid(), SUM(one) FROM (
                SELECT {key}, 1 AS one FROM added UNION ALL SELECT {key}, -1 FROM removed
            ) AS moved GROUP BY {key} HAVING SUM(one) <> 0
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total + EXCLUDED.total;
        END IF;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER {table}_tally_in AFTER INSERT ON {table}
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION {table}_tally_keep()
    """,
    """
    CREATE TRIGGER {table}_tally_out AFTER DELETE ON {table}
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION {table}_tally_keep()
    """,
    """
    CREATE TRIGGER {table}_tally_move AFTER UPDATE ON {table}
    REFERENCING OLD TABLE AS removed NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION {table}_tally_keep()
    """,
)

# After the triggers, which on PostgreSQL keep others from writing until all of this is committed.
COUNT_WHAT_IS_THERE = """
    INSERT INTO {table}_tally ({key}, shard, total) SELECT {key}, 0, COUNT(*) FROM {table} GROUP BY {key}
"""


def up(_migrator: object, db: Database) -> None:
    class MessageTally(Model):
        account_id = TextField()
        number_id = TextField()
        direction = TextField()
        status = TextField()
        shard = IntegerField()
        total = BigIntegerField()

        class Meta:
            database = db
            table_name = "message_tally"
            primary_key = CompositeKey("account_id", "number_id", "direction", "status", "shard")

    class DeliveryTally(Model):
        webhook_id = TextField()
        event_kind = TextField()
        state = TextField()
        shard = IntegerField()
        total = BigIntegerField()

        class Meta:
            database = db
            table_name = "delivery_tally"
            primary_key = CompositeKey("webhook_id", "event_kind", "state", "shard")

    class Message(Model):
        id = CharField(primary_key=True)
        account_id = CharField()

        class Meta:
            database = db
            table_name = "message"

    class Delivery(Model):
        id = CharField(primary_key=True)
        webhook_id = CharField()

        class Meta:
            database = db
            table_name = "delivery"

    for model, column, name, condition in (
        (Message, Message.account_id, "message_inbound", "direction = 'INBOUND'"),
        (Delivery, Delivery.webhook_id, "delivery_rare", RARE),
    ):
        model.add_index(model.index(column, model.id, where=SQL(condition), name=name))
    # Of tables that are there already only the indexes are made.
    db.create_tables([MessageTally, DeliveryTally, Message, Delivery])
    for table, key in TALLIES.items():
        _keep_tally(db, table, key)


RARE = "event_kind NOT IN ('message.received', 'message.sent', 'message.delivered', 'message.read')"


def _keep_tally(db: Any, table: str, key: tuple[str, ...]) -> None:
    words = {
        "table": table,
        "key": ", ".join(key),
        "new": ", ".join(f"NEW.{column}" for column in key),
        "old": ", ".join(f"OLD.{column}" for column in key),
        # The one column of the key that ever changes.
        "moves": key[-1],
    }
    statements = ON_POSTGRESQL if isinstance(db, PostgresqlDatabase) else ON_SQLITE
    for statement in (*statements, COUNT_WHAT_IS_THERE):
        db.execute_sql(statement.format(**words))
