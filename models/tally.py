"""How many messages and deliveries there are of each kind, so that no list has to count its rows.

Triggers change the tallies in the transaction that changes the rows, so a reader who sees the rows sees the
exact tallies. On PostgreSQL each connection counts in rows of its own, its ``shard``. Otherwise all sends of
an account would wait for the same row. The total is the sum over the shards; a single one may be below zero.
The sweep folds them into one.
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
# {change} is + 1 or - 1 for the row that a trigger knows as NEW or OLD.
_COUNT = """
    INSERT INTO {table}_tally ({key}, shard, total) VALUES ({row}, {shard}, {change})
    ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total {change};
"""
# Only the last column of a key ever changes.
_ON_SQLITE = (
    "CREATE TRIGGER {table}_tally_in AFTER INSERT ON {table} BEGIN {count_new} END",
    "CREATE TRIGGER {table}_tally_out AFTER DELETE ON {table} BEGIN {count_old} END",
    """
    CREATE TRIGGER {table}_tally_move AFTER UPDATE OF {moves} ON {table}
    WHEN OLD.{moves} <> NEW.{moves} BEGIN {count_old} {count_new} END
    """,
)
_ON_POSTGRESQL = (
    """
    CREATE FUNCTION {table}_tally_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN {count_old} END IF;
        IF TG_OP <> 'DELETE' THEN {count_new} END IF;
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
    shard = "pg_backend_pid()" if on_postgresql else FOLDED
    for table, tally in TALLIES.items():
        key = tally._meta.primary_key.field_names[:-1]  # noqa: SLF001 - peewee's documented attribute
        counts = {
            f"count_{row.lower()}": _COUNT.format(
                table=table,
                key=", ".join(key),
                row=", ".join(f"{row}.{column}" for column in key),
                shard=shard,
                change=change,
            )
            for row, change in (("NEW", "+ 1"), ("OLD", "- 1"))
        }
        for trigger in _ON_POSTGRESQL if on_postgresql else _ON_SQLITE:
            connected.execute_sql(trigger.format(table=table, moves=key[-1], **counts))


def fold() -> None:
    """Add the shards of each tally up, where there are many, and forget what is at zero."""
    for tally in TALLIES.values():
        *key, shard, total = tally._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
        is_loose = (shard != FOLDED) | (total == 0)
        with reading():
            if tally.select().where(is_loose).count() < FOLD_FROM:
                continue
        sums = tally.select(*key, Value(FOLDED), fn.SUM(total))
        # No other transaction writes meanwhile.
        with writing():
            tally.insert_from(
                sums.where(shard != FOLDED).group_by(*key), [*key, shard, total]
            ).on_conflict(
                conflict_target=[*key, shard], update={total: total + EXCLUDED.total}
            ).execute()
            tally.delete().where(is_loose).execute()
