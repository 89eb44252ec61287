"""How many messages and deliveries there are of each kind, so that no list has to count its rows.

Triggers keep the tallies, in the transaction that changes the rows (models/migrations/0001_schema.py), so
they are exact for whoever sees those rows. On PostgreSQL each connection counts in rows of its own, its
``shard``: else all who send for an account would wait for the same row. Only the sum over the shards says
how many there are; a single one may be below zero. The sweep folds them into one.
"""

from typing import Any

from peewee import EXCLUDED, BigIntegerField, CompositeKey, IntegerField, TextField, Value, fn

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


TALLIES: tuple[type[Any], ...] = (MessageTally, DeliveryTally)


def fold() -> None:
    """Add the shards of each tally up, where there are many, and forget what is at zero."""
    for tally in TALLIES:
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
