"""SQLite's log is copied beside the commits, and does not grow with them."""

import threading
from pathlib import Path

import pytest

from contract_tests.waiting import wait_for
from models import database
from models.clock import new_id
from models.database import sqlite
from models.database.sqlite import COMMITS

PAGE, MAX_PAGES = 4096, 200_000

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


def _times_begun_anew(path: Path) -> int:
    """SQLite counts it in the log's header (its file format, section 4.1)."""
    with path.with_name(f"{path.name}-wal").open("rb") as log:
        return int.from_bytes(log.read(16)[12:], "big")


def test_a_long_log_begins_anew_though_commits_never_pause(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LONG_LOG_PAGES", 500)
    # So many are written in seconds: that is how long the disk may take.
    monkeypatch.setattr(sqlite, "MAX_LOG_PAGES", MAX_PAGES)
    database.connect(f"sqlite://{path}")
    _commit(1)
    before, enough = _times_begun_anew(path), threading.Event()

    def commit() -> None:
        while not enough.is_set():
            _commit(COMMITS)

    committing = threading.Thread(target=commit)
    committing.start()
    try:
        wait_for(lambda: _times_begun_anew(path) > before, "a log that begins anew")
    finally:
        enough.set()
        committing.join()
    assert path.with_name(f"{path.name}-wal").stat().st_size < MAX_PAGES * PAGE


def test_a_few_commits_are_not_copied_yet(path: Path) -> None:
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
