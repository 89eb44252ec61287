"""Fills a migrated database with the messages of forty days, in realistic states, with bulk SQL.

One message in eight is inbound. Of the outbound ones nearly all are delivered or read, some failed, and the
newest are pending. Each message has its history, 2.5 events on average, and a delivery for each event.
Nearly all deliveries are delivered, one in 64 failed, one in 64 is skipped, and the newest are pending.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template

from peewee import PostgresqlDatabase

from models import clock
from models.accounts.account import Account
from models.clock import id_bound
from models.database import database, reading, writing
from models.deliveries.attempt import BUCKETS, WIDE, bucket_of
from models.deliveries.webhook import Webhook
from models.numbers.number import Number, NumberStatus
from webhooks.kinds import EventKind

SPAN_MS = 40 * 24 * 3_600_000
# In a transaction, PostgreSQL keeps every version of a tally and reads all of them at the next change.
MESSAGES_PER_TRANSACTION = 10_000
# Each account and its share of sixteen consecutive messages. The first account is the large one, with two
# numbers.
SHARES = ((0, 10), (1, 2), (2, 2), (3, 2))
STATEMENTS = Path(__file__).with_suffix(".sql")
CLOSED_PORT = 9
# The duration of each attempt in populate.sql.
ANSWER_MS = 23


@dataclass(frozen=True)
class Owner:
    """An account with its numbers and its one webhook, which subscribes to every event."""

    account: Account
    numbers: list[Number]
    webhook: Webhook


def populate(messages: int) -> list[Owner]:
    """Write this number of messages up to now. Returns the owners, the largest first."""
    owners = make_owners()
    values = {
        "places": ", ".join(places(owners)),
        "count": str(messages),
        "begin": str(clock.now() - SPAN_MS),
        "span": str(SPAN_MS),
        **_of_totals(),
    }
    for first in range(0, messages, MESSAGES_PER_TRANSACTION):
        _fill(values, first, min(first + MESSAGES_PER_TRANSACTION, messages) - 1)
    tidy_up()
    return owners


def _of_totals() -> dict[str, str]:
    """The columns of attempt_total, where all attempts have the same duration."""
    bucket = bucket_of(ANSWER_MS)
    counts = ["COUNT(*)" if name == bucket else "0" for name in BUCKETS]
    columns = {"buckets": ", ".join(BUCKETS), "counts": ", ".join(counts)}
    return columns | {"bucket": bucket, "width": str(WIDE)}


def make_owners() -> list[Owner]:
    """The accounts, the large one first."""
    return [_owner(position) for position, _ in SHARES]


def _owner(position: int) -> Owner:
    account = Account.open(f"Bench {position}", "pro")
    numbers = [_number(account, f"10{position}{each}") for each in range(2)]
    url = f"http://127.0.0.1:{CLOSED_PORT}/{position}"
    webhook = Webhook.register(account.id, url, [*EventKind], [])
    # Its receiver has responded: populate.sql writes delivered events.
    Webhook.end_trial(webhook.id, url)
    return Owner(account, numbers, webhook)


def _number(account: Account, phone_number_id: str) -> Number:
    number = Number.provision(
        account.id,
        phone_number_id=phone_number_id,
        waba_id=f"2{phone_number_id}",
        phone_number="15550001111",
        display_name="Bench",
        access_token="token",  # noqa: S106 - nobody asks for it
        pin="123456",
    )
    with writing():
        number.move_to(NumberStatus.ACTIVE)
    return Number.get_by_id(number.id)


def places(owners: list[Owner]) -> Iterator[str]:
    """SQL rows of (place, account, number): the owner of messages, by the last four bits of their number."""
    owned = [owner for owner, (_, share) in zip(owners, SHARES, strict=True) for _ in range(share)]
    for place, owner in enumerate(owned):
        yield f"({place}, '{owner.account.id}', '{owner.numbers[place % 2].id}')"


def _fill(values: dict[str, str], first: int, last: int) -> None:
    """Write the messages number ``first`` to ``last`` in one transaction."""
    bounds = {"first": str(first), "last": str(last)}
    for name, number in (("first", first), ("last", last + 1)):
        at = int(values["begin"]) + number * SPAN_MS // int(values["count"])
        bounds[f"{name}_id"] = id_bound("msg", at)
    # The identifiers of a message's rows contain its time and its number.
    for kind, prefix in (("event", "evt"), ("delivery", "dlv")):
        for name in ("first", "last"):
            bounds[f"{name}_{kind}_id"] = prefix + bounds[f"{name}_id"].removeprefix("msg")
    with writing():
        for statement in STATEMENTS.read_text(encoding="utf-8").split("\n;\n"):
            if statement.strip():
                database.execute_sql(Template(statement).substitute(values | bounds))


def tidy_up() -> None:
    """Run the maintenance that the database would do by itself over time."""
    is_postgresql = isinstance(database.obj, PostgresqlDatabase)
    with reading():
        database.execute_sql(
            "VACUUM ANALYZE" if is_postgresql else "PRAGMA wal_checkpoint(TRUNCATE)"
        )
