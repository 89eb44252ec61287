"""How many messages and deliveries there are of each kind, so that no list has to count its rows.

Triggers keep the tallies, in the transaction that changes the rows, so they are exact for whoever sees those
rows. On PostgreSQL each connection counts in rows of its own, its
``shard``: else all who send for an account would wait for the same row. Only the sum over the shards says
how many there are; a single one may be below zero. The sweep folds them into one.
"""

from typing import Any

from peewee import (
    EXCLUDED,
    BigIntegerField,
    CompositeKey,
    IntegerField,
    PostgresqlDatabase,
    TextField,
    Value,
    fn,
)

from models.database import BaseModel, reading, writing

# So many shards have to be there before it is worth a transaction that is alone.
FOLD_FROM = 1_000
FOLDED = 0


class MessageTally(BaseModel):
    """Messages of an account by number, direction and status."""

    account_id = TextField()
    number_id = TextField()
    direction = TextField()
    status = TextField()
    shard = IntegerField()
    total = BigIntegerField()

    class Meta:
        primary_key = CompositeKey("account_id", "number_id", "direction", "status", "shard")


class DeliveryTally(BaseModel):
    """Deliveries of a webhook by event kind and state."""

    webhook_id = TextField()
    event_kind = TextField()
    state = TextField()
    shard = IntegerField()
    total = BigIntegerField()

    class Meta:
        primary_key = CompositeKey("webhook_id", "event_kind", "state", "shard")


# By the table that they count.
TALLIES: dict[str, type[Any]] = {"message": MessageTally, "delivery": DeliveryTally}
# Only the last column of a key ever changes.
SQLITE_TRIGGERS = (
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
POSTGRESQL_TRIGGERS = (
    """
    CREATE FUNCTION {table}_tally_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO {table}_tally ({key}, shard, total) VALUES ({old}, pg_backend_pid(), -1)
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total - 1;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO {table}_tally ({key}, shard, total) VALUES ({new}, pg_backend_pid(), 1)
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total + 1;
        END IF;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER {table}_tally_in_out AFTER INSERT OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {table}_tally_keep()
    """,
    """
    CREATE TRIGGER {table}_tally_move AFTER UPDATE OF {moves} ON {table}
    FOR EACH ROW WHEN (OLD.{moves} <> NEW.{moves}) EXECUTE FUNCTION {table}_tally_keep()
    """,
)


def create_triggers(connected: Any) -> None:
    """Have a new database keep its tallies."""
    on_postgresql = isinstance(connected, PostgresqlDatabase)
    for table, tally in TALLIES.items():
        key = tally._meta.primary_key.field_names[:-1]  # noqa: SLF001 - peewee's documented attribute
        for trigger in POSTGRESQL_TRIGGERS if on_postgresql else SQLITE_TRIGGERS:
            sql = trigger.format(
                table=table,
                key=", ".join(key),
                new=", ".join(f"NEW.{column}" for column in key),
                old=", ".join(f"OLD.{column}" for column in key),
                moves=key[-1],
            )
            connected.execute_sql(sql)


def fold() -> None:
    """Add the shards of each tally up, where there are many, and forget what is at zero."""
    for tally in TALLIES.values():
        with reading():
            is_worth_it = tally.select().where(_is_loose(tally)).count() >= FOLD_FROM
        if is_worth_it:
            with writing():
                _fold(tally)


def _is_loose(tally: type[Any]) -> Any:
    return (tally.shard != FOLDED) | (tally.total == 0)


def _fold(tally: type[Any]) -> None:
    """No other transaction writes meanwhile."""
    *key, shard, total = tally._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
    shards = tally.select(*key, Value(FOLDED), fn.SUM(total)).where(shard != FOLDED).group_by(*key)
    tally.insert_from(shards, [*key, shard, total]).on_conflict(
        conflict_target=[*key, shard], update={total: total + EXCLUDED.total}
    ).execute()
    tally.delete().where(_is_loose(tally)).execute()
