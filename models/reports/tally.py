"""Tallies: the number of messages and deliveries of each kind, so that lists need not count rows.

Triggers change the tallies in the transaction that changes the rows, so both are always consistent. On
PostgreSQL each connection counts in separate rows, its ``shard``. Otherwise all sends of an account would
wait for the same row. The total is the sum of the shards. A single shard may be below zero. The sweep folds
all shards into one.
"""

from typing import Any

from peewee import (
    EXCLUDED,
    SQL,
    BigIntegerField,
    CompositeKey,
    IntegerField,
    PostgresqlDatabase,
    TextField,
    Value,
    fn,
)

from models.database import BaseModel, reading, writing

# The fewest shards that are worth an exclusive transaction.
FOLD_FROM = 1_000
FOLDED = 0
HOUR_MS = 3_600_000
# As literals, because SQLite uses a partial index only for a condition it can read.
IS_SHARDED = SQL("shard <> 0")
IS_LOOSE = SQL("(shard <> 0 OR total = 0)")


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


class MessageHour(BaseModel):
    """Messages of an account by the hour of their creation and status. ``hour`` counts from the epoch."""

    account_id = TextField()
    hour = BigIntegerField(index=True)
    status = TextField()
    shard = IntegerField()
    total = BigIntegerField()

    class Meta:
        primary_key = CompositeKey("account_id", "hour", "status", "shard")


MessageHour.add_index(MessageHour.shard, where=IS_SHARDED, name="message_hour_sharded")
# By table, whose name begins with the counted table, and the rows that fold() removes. A table of hours has
# too many rows to search for zeros. Retention removes these.
TALLIES: dict[str, tuple[type[Any], Any]] = {
    "message_tally": (MessageTally, IS_LOOSE),
    "message_hour": (MessageHour, IS_SHARDED),
    "delivery_tally": (DeliveryTally, IS_LOOSE),
}
# Keys that are not columns of the counted row.
_COUNTED_BY = {"hour": f"{{row}}.created_at / {HOUR_MS}"}
# {change} is + 1 or - 1 for the row that a trigger knows as NEW or OLD.
_COUNT = """
    INSERT INTO {tally} ({key}, shard, total) VALUES ({row}, {shard}, {change})
    ON CONFLICT ({key}, shard) DO UPDATE SET total = {tally}.total {change};
"""
# Only the last column of a key ever changes.
_ON_SQLITE = (
    "CREATE TRIGGER {tally}_in AFTER INSERT ON {table} BEGIN {count_new} END",
    "CREATE TRIGGER {tally}_out AFTER DELETE ON {table} BEGIN {count_old} END",
    """
    CREATE TRIGGER {tally}_move AFTER UPDATE OF {moves} ON {table}
    WHEN OLD.{moves} <> NEW.{moves} BEGIN {count_old} {count_new} END
    """,
)
_ON_POSTGRESQL = (
    """
    CREATE FUNCTION {tally}_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN {count_old} END IF;
        IF TG_OP <> 'DELETE' THEN {count_new} END IF;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER {tally}_in_out AFTER INSERT OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {tally}_keep()
    """,
    """
    CREATE TRIGGER {tally}_move AFTER UPDATE OF {moves} ON {table}
    FOR EACH ROW WHEN (OLD.{moves} <> NEW.{moves}) EXECUTE FUNCTION {tally}_keep()
    """,
)


def create_triggers(connected: Any) -> None:
    """Create the triggers in a new database."""
    on_postgresql = isinstance(connected, PostgresqlDatabase)
    shard = "pg_backend_pid()" if on_postgresql else FOLDED
    for name, (tally, _) in TALLIES.items():
        key = tally._meta.primary_key.field_names[:-1]  # noqa: SLF001 - peewee's documented attribute
        counts = {
            f"count_{row.lower()}": _COUNT.format(
                tally=name,
                key=", ".join(key),
                row=", ".join(
                    _COUNTED_BY.get(each, f"{{row}}.{each}").format(row=row) for each in key
                ),
                shard=shard,
                change=change,
            )
            for row, change in (("NEW", "+ 1"), ("OLD", "- 1"))
        }
        table = name.partition("_")[0]
        for trigger in _ON_POSTGRESQL if on_postgresql else _ON_SQLITE:
            connected.execute_sql(trigger.format(tally=name, table=table, moves=key[-1], **counts))


def fold() -> None:
    """Fold the shards of each tally into one if there are many, and delete tallies at zero."""
    for tally, is_loose in TALLIES.values():
        *key, shard, total = tally._meta.sorted_fields  # noqa: SLF001 - peewee's documented attribute
        with reading():
            if tally.select().where(is_loose).count() < FOLD_FROM:
                continue
        sums = tally.select(*key, Value(FOLDED), fn.SUM(total))
        # No other transaction writes at the same time.
        with writing():
            tally.insert_from(
                sums.where(IS_SHARDED).group_by(*key), [*key, shard, total]
            ).on_conflict(
                conflict_target=[*key, shard], update={total: total + EXCLUDED.total}
            ).execute()
            tally.delete().where(is_loose).execute()
