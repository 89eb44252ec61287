"""Migrations: what they make is what the models expect."""

import importlib
import pkgutil
import time
from pathlib import Path
from typing import Any

import pytest
from peewee import SqliteDatabase
from playhouse.migrations import Runner
from playhouse.schema_diff import diff_models

import models
from contract_tests.backends import empty_state
from models import database, secret
from models.account import Account
from models.database import BaseModel, engine
from models.delivery import Delivery
from models.message import Message
from models.number import Number
from models.webhook import Webhook
from tests import factories

for module in pkgutil.iter_modules(models.__path__, "models."):
    importlib.import_module(module.name)
TABLES = BaseModel.__subclasses__()

pytestmark = pytest.mark.usefixtures("state")


def _empty(folder: Path) -> str:
    """The address of a database in which nothing is."""
    return empty_state().get("GATEWAY_DATABASE_URL", f"sqlite://{folder}/empty/gateway.db")


def _columns(connected: Any, table: str) -> set[tuple[Any, ...]]:
    """Name, type, nullability, key and reference of each column."""
    columns = connected.execute_sql(f'PRAGMA table_info("{table}")').fetchall()
    references = connected.execute_sql(f'PRAGMA foreign_key_list("{table}")').fetchall()
    return {tuple(c[1:]) for c in columns} | {tuple(r[2:7]) for r in references}


def test_the_migrated_schema_equals_the_models() -> None:
    assert len(TABLES) >= 12
    assert not diff_models(database.database.obj, TABLES)


@pytest.mark.sqlite("its PRAGMAs tell the columns")
def test_migrated_columns_have_the_types_and_references_of_the_models(tmp_path: Path) -> None:
    """Which diff_models does not compare."""
    fresh = SqliteDatabase(str(tmp_path / "fresh.db"))
    with fresh.bind_ctx(TABLES):
        fresh.create_tables(TABLES)
    tables = [str(table._meta.table_name) for table in TABLES]
    expected = {table: _columns(fresh, table) for table in tables}
    fresh.close()
    assert {table: _columns(database.database.obj, table) for table in tables} == expected


def _insert(old: Any, table: str, **values: object) -> None:
    """A row as it was before the later columns of its table."""
    places = ", ".join([old.param] * len(values))
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})"  # noqa: S608 - ours
    old.execute_sql(statement, tuple(values.values()))


def _insert_webhook(
    old: Any, webhook_id: str, account_id: str, sealed: str, *, off_since: int | None = None
) -> None:
    _insert(
        old,
        "webhook",
        id=webhook_id,
        account_id=account_id,
        url="https://example.com/",
        sealed_secret=sealed,
        events_json='["number.banned"]',
        number_ids_json="[]",
        active=off_since is None,
        failure_count=0,
        slow=False,
        deactivated_at=off_since,
        created_at=1,
    )


def test_migrating_again_does_nothing_and_keeps_what_is_there() -> None:
    account = Account.open("Acme", "pro")
    assert database.migrate() == []
    assert database.pending_migrations() == []
    assert Account.find(account.id) == account


def test_a_database_that_was_never_migrated_lacks_all_migrations(tmp_path: Path) -> None:
    files = sorted(path.stem for path in engine.MIGRATIONS.glob("[0-9]*.py"))
    empty = database.connect(_empty(tmp_path))
    assert database.pending_migrations() == files
    assert database.migrate() == files
    assert database.pending_migrations() == []
    empty.close()


def test_webhooks_of_before_reasons_and_rotations_were_kept_are_taken_over(tmp_path: Path) -> None:
    """Their secrets may have been rotated until the migration, which therefore counts as a rotation."""
    old: Any = database.connect(_empty(tmp_path))
    old.connect(reuse_if_open=True)
    Runner(old, str(engine.MIGRATIONS)).up("0007_heartbeat")
    account = Account.open("Acme", "pro")
    sealed = secret.encrypt("whsec_of_before")
    rows = [("wh_on", True, None), ("wh_off", False, 1)]
    for webhook_id, _, deactivated_at in rows:
        _insert_webhook(old, webhook_id, account.id, sealed, off_since=deactivated_at)
    before = round(time.time() * 1000)
    assert database.migrate()[0] == "0008_webhook_history"
    taken_over = {row.id: row for row in Webhook.all()}
    assert set(taken_over) == {"wh_on", "wh_off"}
    for webhook_id, active, deactivated_at in rows:
        row = taken_over[webhook_id]
        assert (row.active, row.deactivated_at) == (active, deactivated_at)
        assert row.secret == "whsec_of_before"
        assert row.deactivated_because is None
        assert row.secret_changed_at is not None
        assert before <= row.secret_changed_at <= round(time.time() * 1000)
        assert row.secrets_at(row.secret_changed_at) == [row.secret], "the one before was not kept"
    old.close()


def _pragmas() -> dict[str, Any]:
    names = ("foreign_keys", "journal_mode", "synchronous")
    cursors = {name: database.database.execute_sql(f"PRAGMA {name}") for name in names}
    return {name: cursor.fetchone()[0] for name, cursor in cursors.items()}


@pytest.mark.sqlite("its PRAGMAs")
def test_foreign_keys_hold_and_readers_do_not_wait_for_writers() -> None:
    assert _pragmas() == {"foreign_keys": 1, "journal_mode": "wal", "synchronous": 1}


@pytest.mark.sqlite("its PRAGMAs")
def test_the_operator_may_have_each_commit_reach_the_disk(tmp_path: Path) -> None:
    durable = database.connect(f"sqlite://{tmp_path}/durable.db?synchronous=full")
    database.migrate()
    assert _pragmas()["synchronous"] == 2
    durable.close()
    assert (tmp_path / "durable.db").exists()


def test_a_nested_write_joins_the_outer_one_and_shares_its_fate() -> None:
    def write_and_break_down() -> None:
        with database.writing():
            with database.writing():
                Account.open("Acme", "pro")
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        write_and_break_down()
    assert Account.all() == []


def test_what_is_there_before_totals_are_kept_is_counted_once(tmp_path: Path) -> None:
    old: Any = database.connect(_empty(tmp_path))
    old.connect(reuse_if_open=True)
    Runner(old, str(engine.MIGRATIONS)).up("0010_sizes_on_postgresql")
    account = Account.open("Acme", "pro")
    _insert(
        old,
        "number",
        id="num_1",
        account_id=account.id,
        phone_number_id="1001",
        waba_id="2001",
        phone_number="15550001111",
        status="ACTIVE",
        sealed_token="",
        sealed_pin="",
        created_at=1,
    )
    number = Number(id="num_1", account=account.id, phone_number="15550001111")
    factories.outbound(number)
    _insert_webhook(old, "wh_1", account.id, secret.encrypt("whsec_1"))
    for delivery_id in ("dlv_1", "dlv_2", "dlv_3"):
        with database.writing():
            event = factories.event(account)
        _insert(
            old,
            "delivery",
            id=delivery_id,
            webhook_id="wh_1",
            event_id=event.id,
            event_kind=event.kind,
            state="pending",
            attempt_count=0,
            tries=0,
            next_attempt_at=1,
            created_at=1,
        )
    assert database.migrate()[0] == "0011_tallies"
    webhook = Webhook.get()
    factories.outbound(number)
    factories.deliveries(account, webhook)
    assert Message.page(account.id, 1, 0, number_id=number.id).total == 2
    assert Delivery.page(webhook.id, 1, 0, state="pending").total == 4
