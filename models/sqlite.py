"""SQLite as the database: one file, one writer at a time with a connection of its own, one for each thread.

It runs in WAL mode. What was committed survives the end of any process; whether it survives a power cut
too is the operator's choice (docs/decisions/0004-sqlite-durability.md).
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from peewee import SqliteDatabase

from models.checkpointer import LONG_LOG_PAGES, Checkpointer

BUSY_TIMEOUT_SECONDS = 30
# A commit that finds so many in the log copies them into the database itself, while all others wait: only
# when the Checkpointer did not keep up.
MAX_LOG_PAGES = 8 * LONG_LOG_PAGES
FULL = "synchronous=full"


class _Answer:
    """What a statement selected, for later: other threads go on with the connection meanwhile."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._rows: list[tuple[Any, ...]] = cursor.fetchall()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""
        return self._rows


class _Database(SqliteDatabase):
    # PostgreSQL has quicker ways for these two (models.postgresql).
    ask = SqliteDatabase.execute_sql

    def put(self, sql: str, values: Sequence[Any] = ()) -> _Answer:
        """As ask(), for a caller that looks at the answer later or never."""
        execute: Any = self.execute_sql
        return _Answer(execute(sql, values))


class SqliteEngine:
    """The file behind a URL ``sqlite:///absolute/path``, percent-encoded.

    With ``?synchronous=full`` behind it each commit reaches the disk.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        path = Path(unquote(parts.path))
        path.parent.mkdir(parents=True, exist_ok=True)
        self._thread_lock = threading.RLock()
        # Open for as long as the engine is used.
        self._lock_file = os.open(
            path.with_name(f"{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o600
        )
        self._checkpointer = Checkpointer(path, self._alone)
        self.database = _Database(
            str(path),
            pragmas={
                "journal_mode": "wal",
                "synchronous": "full" if parts.query == FULL else "normal",
                "foreign_keys": 1,
                "cache_size": -16_000,
                "wal_autocheckpoint": MAX_LOG_PAGES,
            },
            timeout=BUSY_TIMEOUT_SECONDS,
            # The writer's connection goes from thread to thread, one at a time.
            check_same_thread=False,
        )
        self._writer: sqlite3.Connection | None = None

    def close(self) -> None:
        """Let go of the lock file. The connections of other threads end with them."""
        self._checkpointer.stop()
        # SQLite crashes when a connection is closed under a thread that uses it.
        with self._thread_lock:
            if self._writer is not None:
                self._writer.close()
            os.close(self._lock_file)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The thread's connection, which stays open."""
        self.database.connect(reuse_if_open=True)
        yield

    @contextmanager
    def writing(self, _keys: Sequence[str] | None) -> Iterator[None]:
        """One write transaction; an inner one joins the outer one. Each is alone, whatever its keys.

        It begins IMMEDIATE, because a read transaction that turns into a write one fails at once with
        SQLITE_BUSY. SQLite itself lets a second writer sleep for up to 100 ms between two looks at its
        lock, so writers queue up before it: the threads of a process at one lock, processes at another.
        """
        with self._thread_lock:
            if self.database.in_transaction():
                yield
                return
            with self._as_writer(), self._alone(), self.database.atomic("IMMEDIATE"):
                yield
            self._checkpointer.note_commit()

    @contextmanager
    def _as_writer(self) -> Iterator[None]:
        """The writer's connection in place of the thread's own.

        It knows the pages that it wrote before, where one of each thread would have to read them again.
        """
        database = cast("Any", self.database)
        if self._writer is None:
            self._writer = database._connect()  # noqa: SLF001 - as connect() does, for no thread
        state = database._state  # noqa: SLF001 - what connection peewee takes for this thread
        own = vars(state).copy()
        state.set_connection(self._writer)
        try:
            yield
        finally:
            vars(state).update(own)

    def appending(self) -> AbstractContextManager[None]:
        """As any write transaction."""
        return self.writing(())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread or process writes meanwhile. The kernel lets the file go with whoever holds it."""
        with self._thread_lock:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Each migration is a transaction, and SQLite has one at a time."""
        with self.reading():
            yield
