"""The engine on a file."""

import asyncio
import signal
import statistics
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from peewee import OperationalError

from models.database import sqlite
from models.database.outage import BusyError
from models.database.sqlite import SqliteEngine
from tests.programs import begun

# The threads of a web process with the default settings, and what their caches may take of its memory budget
# (docs/operations.md), in KiB.
THREADS, CACHES_KIB = 70, 100 * 1024

FREEZES = """
import sys, time
from models.database.sqlite import SqliteEngine

engine = SqliteEngine(sys.argv[1])
with engine.writing():
    engine.execute_sql("CREATE TABLE kept (id)")
    print("inside", flush=True)
    time.sleep(1)
"""

TRANSACTION_SECONDS = 0.05
WRITES_WITHOUT_A_PAUSE = f"""
import sys, threading, time
from models.database.sqlite import SqliteEngine

engine = SqliteEngine(sys.argv[1])

def write():
    while True:
        with engine.writing():
            time.sleep({TRANSACTION_SECONDS})

for _ in range(4):
    threading.Thread(target=write, daemon=True).start()
print("writing", flush=True)
time.sleep(60)
"""


def test_the_engine_closes_after_the_transaction_under_way(tmp_path: Path) -> None:
    engine = SqliteEngine(f"sqlite:///{tmp_path}/gateway.db")
    began, may_go_on = threading.Event(), threading.Event()

    def write() -> None:
        with engine.writing(None):
            began.set()
            may_go_on.wait(2)
            engine.execute_sql("CREATE TABLE late (id)")  # type: ignore[no-untyped-call]

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        began.wait()
        closing = pool.submit(engine.close_all)
        with pytest.raises(TimeoutError):
            closing.result(timeout=0.2)
        may_go_on.set()
        assert (writing.result(), closing.result()) == (None, None)


def test_the_connection_of_a_thread_is_closed_when_the_thread_ends(tmp_path: Path) -> None:
    file = tmp_path / "gateway.db"
    engine = SqliteEngine(f"sqlite://{file}")

    def is_open() -> bool:
        with engine.reading():
            return file in _open_files()

    with warnings.catch_warnings(record=True) as warned, ThreadPoolExecutor(1) as pool:
        warnings.simplefilter("always")
        assert pool.submit(is_open).result()
        pool.shutdown()
        assert file not in _open_files()
    # Python 3.13 warns of a connection that nobody closed.
    assert warned == []
    engine.close_all()


def _open_files() -> list[Path]:
    """The files that this process has open."""
    links = Path("/proc/self/fd").iterdir()
    return [link.readlink() for link in links if link.is_symlink()]


def test_a_process_that_freezes_in_a_transaction_holds_others_up_for_a_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOCK_SECONDS", 1)
    url = f"sqlite:///{tmp_path}/gateway.db"
    engine = SqliteEngine(url)

    async def write_ten_times() -> list[BaseException | None]:
        writes = [engine.run(lambda: None) for _ in range(10)]
        return await asyncio.gather(*writes, return_exceptions=True)

    with begun("inside", "-c", FREEZES, url) as frozen:
        frozen.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(BusyError), engine.writing():
            pass
        found = asyncio.run(write_ten_times())
        assert 2 <= time.monotonic() - began < 5
        assert all(isinstance(error, BusyError) for error in found)
        frozen.send_signal(signal.SIGCONT)
        assert frozen.wait(10) == 0
    with engine.writing():
        assert engine.table_exists("kept")
    engine.close_all()


def test_another_program_that_locks_the_file_holds_a_batch_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOCK_SECONDS", 1)
    path = tmp_path / "gateway.db"
    engine = SqliteEngine(f"sqlite:///{path}")

    async def write_ten_times() -> list[BaseException | None]:
        writes = [engine.run(lambda: None) for _ in range(10)]
        return await asyncio.gather(*writes, return_exceptions=True)

    assert asyncio.run(write_ten_times()) == [None] * 10
    # A backup, or a person with the program sqlite3.
    with closing(connect(path, isolation_level=None)) as program:
        program.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        found = asyncio.run(write_ten_times())
        assert 1 <= time.monotonic() - began < 4
        assert all(isinstance(error, BusyError) for error in found)
    assert asyncio.run(write_ten_times()) == [None] * 10
    engine.close_all()


def test_a_process_with_many_writers_lets_another_one_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gateway.db"
    engine = SqliteEngine(url)
    waits = []
    with begun("writing", "-c", WRITES_WITHOUT_A_PAUSE, url) as busy:
        for _ in range(15):
            asked = time.monotonic()
            with engine.writing():
                waits.append(time.monotonic() - asked)
            time.sleep(0.02)
        busy.kill()
    # The rest of one transaction, on average.
    assert statistics.median(waits) < 2 * TRANSACTION_SECONDS
    engine.close_all()


def test_a_checkpoint_waits_for_a_short_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among many readers, one is always reading."""
    monkeypatch.setattr(sqlite, "READERS_MS", 5_000)
    engine = SqliteEngine(f"sqlite:///{tmp_path}/gateway.db")
    execute: Any = engine.execute_sql
    has_read = threading.Event()

    def write(statement: str) -> None:
        with engine.writing():
            execute(statement)

    def read() -> None:
        with engine.reading_together():
            execute("SELECT * FROM kept").fetchall()
            has_read.set()
            time.sleep(0.2)

    write("CREATE TABLE kept (id)")
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        assert has_read.wait(10)
        write("INSERT INTO kept VALUES (1)")
        assert engine.empty_log()
        reader.result()
    engine.close_all()


def test_a_full_disk_is_an_error_and_the_next_transaction_works(tmp_path: Path) -> None:
    """SQLite itself rolls a transaction back when the disk is full."""
    engine = SqliteEngine(f"sqlite://{tmp_path}/full.db")
    execute: Any = engine.execute_sql
    with engine.writing():
        execute("CREATE TABLE kept (text)")
    with engine.writing():
        [(pages,)] = execute("PRAGMA page_count").fetchall()
        execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(OperationalError, match="full"), engine.writing():
        execute("INSERT INTO kept VALUES (?)", ("x" * 100_000,))
    with engine.writing():
        execute("INSERT INTO kept VALUES ('y')")
    engine.close_all()


def test_a_partly_read_result_blocks_no_writer(tmp_path: Path) -> None:
    engine = SqliteEngine(f"sqlite://{tmp_path}/read.db")
    execute: Any = engine.execute_sql
    with engine.writing():
        execute("CREATE TABLE kept (id)")
        execute("INSERT INTO kept VALUES (1), (2)")
    rows = execute("SELECT id FROM kept")
    assert rows.fetchone() == (1,)

    def write() -> None:
        with engine.writing():
            execute("INSERT INTO kept VALUES (3)")

    with ThreadPoolExecutor(1) as another:
        another.submit(write).result()
    write()
    assert rows.fetchall() == [(2,)]
    engine.close_all()


def test_the_write_ahead_log_stays_short_under_constant_load(tmp_path: Path) -> None:
    """SQLite copies the log within a commit, and restarts it."""
    engine = SqliteEngine(f"sqlite://{tmp_path}/busy.db")
    execute: Any = engine.execute_sql
    with engine.writing():
        execute("CREATE TABLE kept (text)")

    def write() -> None:
        for _ in range(1_000):
            with engine.writing():
                execute("INSERT INTO kept VALUES (?)", ("x" * 10_000,))
            with engine.reading():
                execute("SELECT count(*) FROM kept").fetchall()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write) for _ in range(2)]:
            done.result()
    assert (tmp_path / "busy.db").stat().st_size > 15_000_000
    assert (tmp_path / "busy.db-wal").stat().st_size < 10_000_000
    engine.close_all()


def test_each_reading_thread_caches_little_and_the_writers_more(tmp_path: Path) -> None:
    engine = SqliteEngine(f"sqlite:///{tmp_path}/state.db")
    query = "PRAGMA cache_size"
    with engine.reading():
        [(readers,)] = engine.put(query, []).rows
    with engine.writing():
        [(writers,)] = engine.put(query, []).rows
    engine.close_all()
    # KiB, if negative.
    assert (readers, writers) == (-sqlite.READERS_KIB, -sqlite.WRITERS_KIB)
    assert THREADS * sqlite.READERS_KIB + sqlite.WRITERS_KIB < CACHES_KIB
