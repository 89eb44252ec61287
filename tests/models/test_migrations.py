"""Migrations: the schema that they create, the data that they keep, and the databases that they refuse."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from peewee import DatabaseError
from playhouse.migrations import Runner

from contract_tests.backends import empty_state
from models import clock, database
from models.accounts.account import Account
from models.database import engine
from models.deliveries.feed import START, Wanted
from models.messages import search
from models.messages.message import Message, MessageStatus, StatusChange
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.numbers.signup import Signup, SignupLink
from models.reports import activity
from tests import factories

# Columns of later migrations, by table. The factories of tests need them until the migrations run.
LATER: dict[str, dict[str, tuple[str, ...]]] = {
    "0003_people": {
        "account": ("stop_text", "start_text"),
        "message": ("contact_id", "quoted_id", "quoted_wa_id", "changed_at", "acceptance"),
    },
    "0004_pricing": {"message": ("pricing_json", "pricing_status")},
    "0006_quality": {"number": ("quality_rating", "messaging_limit", "reason", "notice_json")},
    "0008_events": {"event": ("position",)},
    "0009_users": {
        "user": ("role", "signed_in_at", "sealed_totp", "totp_since", "totp_step"),
        "user_session": ("address", "browser"),
    },
    "0018_network": {"number": ("network",)},
}
# Later migrations that add an index to a table of an earlier one.
AMENDED_BY = {"0005_templates": ("0012_incidents",)}
pytestmark = pytest.mark.usefixtures("state")


def _empty(folder: Path) -> str:
    """The URL of an empty database."""
    return empty_state().get("GATEWAY_DATABASE_URL", f"sqlite://{folder}/empty/gateway.db")


def test_migrating_again_does_nothing_and_keeps_what_is_there() -> None:
    account = Account.open("Acme", "pro")
    assert database.migrate() == []
    assert database.pending_migrations() == []
    assert Account.by_id(account.id) == account


def test_a_database_that_was_never_migrated_lacks_all_migrations(tmp_path: Path) -> None:
    files = _all_migrations()
    empty = database.connect(_empty(tmp_path))
    assert database.pending_migrations() == files
    assert database.migrate() == files
    assert database.pending_migrations() == []
    empty.close()


def _all_migrations() -> list[str]:
    """The names of all migrations."""
    return sorted(path.stem for path in engine.MIGRATIONS.glob("[0-9]*.py"))


def _unreleased(folder: Path, *applied: str) -> Any:
    """A database of an unreleased version, with these migrations recorded."""
    connected = database.connect(_empty(folder))
    database.migrate()
    with database.writing():
        for name in ("phone_number_id", "waba_id", "phone_number", "step"):
            database.database.execute_sql(
                f"ALTER TABLE signup ADD COLUMN {name} TEXT NOT NULL DEFAULT ''"
            )
        for statement in (
            "ALTER TABLE signup ADD COLUMN display_name TEXT",
            "ALTER TABLE signup ADD COLUMN error_code TEXT",
            "ALTER TABLE signup ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE redelivery ADD COLUMN call_id TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE redelivery ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0",
            "DROP INDEX status_change_message_id_status",
            "CREATE INDEX statuschange_message_id ON status_change (message_id)",
            "DELETE FROM schema_migration",
        ):
            database.database.execute_sql(statement)
        for name in applied:
            Runner(connected, str(engine.MIGRATIONS)).History.create(name=name)
    return connected


def test_a_database_of_the_last_unreleased_version_goes_on_working(tmp_path: Path) -> None:
    unreleased = _unreleased(tmp_path, "0016_work_for_later", "0017_deleted_webhooks")
    number = factories.active_number(Account.open("Acme", "pro"))
    message = factories.outbound(number)
    link = SignupLink.open(Account.get_by_id(number.account_id), "acme")
    Signup.begin(link, "code-1", "token-1")
    with database.writing():
        Number.update(due_at=None).execute()
        # Each step occurs once, without a unique index.
        for status in ("sent", "delivered"):
            StatusChange.create(message=message.id, status=status, at=1)
    with database.writing():
        _forget_columns(*LATER)
    assert database.migrate() == _all_migrations()
    assert database.pending_migrations() == []
    assert Number.get_by_id(number.id).due_at == 0
    kept = Signup.find(link, "code-1")
    assert kept is not None
    assert kept.access_token == "token-1"
    Signup.begin(link, "code-2", "token-2")
    with database.writing():
        message.advance(MessageStatus.SENT, at=2, pricing={"category": "utility"})
    assert Message.get_by_id(message.id).pricing_json == '{"category": "utility"}'
    steps = [(step.status, step.at) for step in message.history()[1:]]
    assert steps == [("sent", message.created_at), ("delivered", message.created_at)]
    factories.outbound(number)
    assert MessageFilter().page(number.account_id, 1, 0).total == 2
    unreleased.close()


def _forget_columns(*migrations: str) -> None:
    """Drop the columns of later migrations, with their indexes."""
    if "0003_people" in migrations:
        database.database.execute_sql("DROP INDEX message_contact")
    if "0008_events" in migrations:
        database.database.execute_sql("DROP INDEX event_account_id_position_id")
    for migration in migrations:
        for table, names in LATER.get(migration, {}).items():
            for name in names:
                database.database.execute_sql(f'ALTER TABLE "{table}" DROP COLUMN {name}')


def _described(table: str) -> Any:
    """The database's description of a table: columns, indexes and foreign keys, in any order."""
    connected = database.database
    # These are synonyms in SQLite, which has one integer type.
    kinds = {"BIGINT": "INTEGER"} if database.answers_at_once() else {}
    columns = {
        (c.name, kinds.get(c.data_type.upper(), c.data_type.upper()), c.null, c.primary_key)
        for c in connected.get_columns(table)
    }
    indexes = {(i.name, tuple(i.columns), i.unique) for i in connected.get_indexes(table)}
    foreign = {(f.column, f.dest_table, f.dest_column) for f in connected.get_foreign_keys(table)}
    return columns, indexes, foreign


@pytest.mark.parametrize(
    ("migration", "added"),
    [
        ("0003_people", ("contact_change", "contact")),
        ("0004_pricing", ("usage_total",)),
        ("0005_templates", ("template", "template_list")),
        ("0006_quality", ()),
        ("0008_events", ()),
        (
            "0009_users",
            ("recovery_code", "pending_sign_in", "password_reset", "invitation", "audit"),
        ),
        ("0011_overview", ("attempt_total", "message_hour")),
        ("0012_incidents", ("alert_target", "incident")),
        ("0013_requests", ("api_request",)),
        ("0014_erasures", ("erasure",)),
        ("0015_event_history", ("event_history", "erased_event", "event_floor")),
    ],
)
def test_a_migrated_database_has_the_tables_of_a_new_one(
    tmp_path: Path, migration: str, added: tuple[str, ...]
) -> None:
    """Also if the later migrations were applied already."""
    older = database.connect(_empty(tmp_path))
    database.migrate()
    tables = (*added, *LATER.get(migration, {}))
    with database.reading():
        new = [_described(table) for table in tables]
    with database.writing():
        for table in added:
            database.database.execute_sql(f"DROP TABLE {table}")
        _forget_columns(migration)
        history = Runner(older, str(engine.MIGRATIONS)).History
        missing = [migration, *AMENDED_BY.get(migration, ())]
        history.delete().where(history.name.in_(missing)).execute()
    assert database.migrate() == missing
    with database.reading():
        assert [_described(table) for table in tables] == new
    older.close()


def test_a_migrated_database_has_the_indexes_of_a_new_one(tmp_path: Path) -> None:
    older = database.connect(_empty(tmp_path))
    database.migrate()
    with database.reading():
        new = _described("message")
    with database.writing():
        for name in ("message_time", "message_rare_type"):
            database.database.execute_sql(f"DROP INDEX {name}")
        history = Runner(older, str(engine.MIGRATIONS)).History
        history.delete().where(history.name == "0007_finding").execute()
    assert database.migrate() == ["0007_finding"]
    with database.reading():
        assert _described("message") == new
    older.close()


def test_events_from_before_their_migration_are_read_before_later_ones(tmp_path: Path) -> None:
    older = database.connect(_empty(tmp_path))
    database.migrate()
    account = Account.open("Acme", "pro")
    ids = [factories.event(account).id for _ in range(3)]
    with database.writing():
        _forget_columns("0008_events")
        history = Runner(older, str(engine.MIGRATIONS)).History
        history.delete().where(history.name == "0008_events").execute()
    database.migrate()
    ids.append(factories.event(account).id)
    read, place = Wanted(account.id).read(START, 2)
    read += Wanted(account.id).read(place, 3)[0]
    assert [event.id for event in read] == ids


def test_messages_from_before_are_in_the_totals_by_the_hour(tmp_path: Path) -> None:
    older = database.connect(_empty(tmp_path))
    database.migrate()
    on = "" if database.answers_at_once() else " ON message"
    names = ("in", "out", "move") if database.answers_at_once() else ("in_out", "move")
    with database.writing():
        for name in names:
            database.database.execute_sql(f"DROP TRIGGER message_hour_{name}{on}")
        for table in ("message_hour", "attempt_total"):
            database.database.execute_sql(f"DROP TABLE {table}")
        history = Runner(older, str(engine.MIGRATIONS)).History
        history.delete().where(history.name == "0011_overview").execute()
    number = factories.active_number(Account.open("Acme", "pro"))
    first, second = factories.outbound(number), factories.outbound(number)
    assert database.migrate() == ["0011_overview"]
    third = factories.outbound(number)
    with database.writing():
        for message in (first, third):
            message.advance(MessageStatus.SENT, at=1)
        Message.delete().where(Message.id == second.id).execute()
    found = activity.messages(number.account_id, activity.SPANS["24h"], third.created_at)
    assert sum((Counter(step) for step in found), Counter()) == {"sent": 2}


def test_a_migrated_database_has_the_search_of_a_new_one(tmp_path: Path) -> None:
    tables = ("search_block", "search_words", "contact")
    older = database.connect(_empty(tmp_path))
    database.migrate()
    with database.reading():
        new = [_described(table) for table in tables]
    with database.writing():
        for statement in (
            "DROP TABLE search_words",
            "DROP TABLE search_block",
            *(f"DROP INDEX contact_{of}" for of in ("of_account", "of_number", "username", "name")),
            "CREATE INDEX contact_account_id ON contact (account_id)",
            "CREATE INDEX contact_account_id_id ON contact (account_id, id)",
            "DELETE FROM schema_migration WHERE name = '0010_search'",
        ):
            database.database.execute_sql(statement)
    number = factories.active_number(Account.open("Acme", "pro"))
    message = factories.outbound(number, text="Hello")
    assert database.migrate() == ["0010_search"]
    with database.reading():
        assert [_described(table) for table in tables] == new
    later = clock.now() + 1
    assert search.add(later, later, 10) == 1
    assert search.find(number.account_id, ["hello"], 10).messages == [message]
    older.close()


@pytest.mark.sqlite("its file outlives the interruption")
def test_a_first_migration_that_was_interrupted_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_runner: Runner) -> None:
        raise SystemExit

    interrupted = database.connect(_empty(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "fake", die)
        with pytest.raises(SystemExit):
            database.migrate()
    assert database.migrate() == _all_migrations()
    assert database.pending_migrations() == []
    interrupted.close()


def test_an_older_database_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    older = _unreleased(tmp_path, "0015_due_deliveries", "0016_work_for_later")
    account = Account.open("Acme", "pro")
    pending = database.pending_migrations()
    with pytest.raises(DatabaseError, match=r"^0016_work_for_later .* gateway migrate"):
        database.migrate()
    assert database.pending_migrations() == pending == _all_migrations()
    assert Account.all() == [account]
    older.close()


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
