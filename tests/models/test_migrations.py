"""Migrations, the settings of SQLite, and nested transactions."""

from pathlib import Path
from typing import Any

import pytest
from playhouse.migrations import Runner

from contract_tests.backends import empty_state
from models import database
from models.accounts.account import Account
from models.database import engine

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
    assert set(database.migrate()) >= set(files)
    assert database.pending_migrations() == []
    empty.close()


def _all_migrations() -> list[str]:
    """The names of all migrations."""
    return sorted(path.stem for path in engine.MIGRATIONS.glob("[0-9]*.py"))


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
    assert set(database.migrate()) >= set(_all_migrations())
    assert database.pending_migrations() == []
    interrupted.close()


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
