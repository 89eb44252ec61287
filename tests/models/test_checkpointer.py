"""SQLite's log is copied beside the commits, and does not grow with them."""

import threading
from pathlib import Path

import pytest

from contract_tests.waiting import wait_for
from models import database
from models.checkpointer import COMMITS
from models.identifier import new_id

pytestmark = pytest.mark.sqlite("it is SQLite's log")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A migrated database of this test's own."""
    path = tmp_path / "gateway.db"
    database.connect(f"sqlite://{path}")
    database.migrate()
    return path


def _commit(count: int) -> None:
    for _ in range(count):
        with database.writing():
            database.database.execute_sql(
                "INSERT INTO account (id, name, plan, created_at) VALUES (?, 'x', 'pro', 0)",
                (new_id("acc"),),
            )


def test_what_is_committed_comes_into_the_database_without_a_commit_that_does_it(
    path: Path,
) -> None:
    before = path.stat().st_size
    _commit(COMMITS * 5)
    wait_for(lambda: path.stat().st_size > before, "rows in the database file")


def test_a_few_commits_start_no_thread(path: Path) -> None:
    size = path.stat().st_size
    _commit(COMMITS // 2)
    assert path.stat().st_size == size


def test_a_commit_stands_where_no_thread_can_begin(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    assert path.exists()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    _commit(COMMITS + 1)
    with database.reading():
        [count] = database.database.execute_sql("SELECT COUNT(*) FROM account").fetchone()
    assert count == COMMITS + 1
