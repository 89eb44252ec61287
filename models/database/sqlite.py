"""SQLite as the database: one file, a connection for each reading thread, and one for all writers.

It runs in WAL mode. Commits survive the death of any process. The operator chooses whether they survive a
power cut (docs/decisions/0027-postgresql-beside-sqlite.md).

One thread writes for all event loops. It batches the waiting work in one transaction
(docs/decisions/0039-one-asynchronous-application.md).
"""

import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import orjson
from peewee import (  # type: ignore[attr-defined]
    EXCEPTIONS,
    ExceptionWrapper,
    OperationalError,
    SqliteDatabase,
)

from models.database.committer import Committer, Job
from models.database.outage import BusyError, driver_error
from models.file_lock import lock_within

Result = TypeVar("Result")

# peewee logs its own statements there.
queries = logging.getLogger("peewee")
_AS_PEEWEE = ExceptionWrapper(EXCEPTIONS)
# How long a writer waits for a lock, in seconds. A frozen process keeps its lock.
LOCK_SECONDS = 10
# How long a checkpoint waits for readers, in milliseconds. All writers wait meanwhile.
READERS_MS = 50
# The page cache in KiB of each thread's connection, and of the writers'. A web process has up to 60 threads.
READERS_KIB, WRITERS_KIB = 1_000, 16_000


@dataclass(slots=True)
class Answer:
    """The rows of a statement, and how many it changed."""

    rows: list[tuple[Any, ...]]
    rowcount: int


class _Connection(sqlite3.Connection):
    """Closes itself before it is released, without the warning of Python 3.13."""

    def __del__(self) -> None:
        self.close()


class _OfThread:
    """A value of a thread-local, which Python drops when the thread ends. It closes the thread's connection.

    The connection is only released by the next garbage collection: its cache of statements refers to it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __del__(self) -> None:
        self._connection.close()


class SqliteEngine(SqliteDatabase):
    """The file behind a URL ``sqlite:///absolute/path``, percent-encoded.

    With ``?synchronous=full`` each commit is flushed to the disk.
    """

    def __init__(self, url: str) -> None:
        path = path_of(url)
        path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(
            str(path),
            pragmas={
                "journal_mode": "wal",
                "synchronous": "full" if urlsplit(url).query == "synchronous=full" else "normal",
                "foreign_keys": 1,
                "cache_size": -READERS_KIB,
                # Deleted rows are overwritten in the file.
                "secure_delete": 1,
            },
            timeout=LOCK_SECONDS,
            # Threads use the writers' connection one at a time.
            check_same_thread=False,
            factory=_Connection,
        )
        self._own = threading.local()
        self._writers: sqlite3.Connection | None = None
        self._writing_thread: int | None = None
        self._thread_lock = threading.Lock()
        self._lock_file, self._turn_file = (
            os.open(f"{path}.{name}", os.O_WRONLY | os.O_CREAT, 0o600) for name in ("lock", "turn")
        )
        self._committer = Committer(self._commit)

    def close_all(self) -> None:
        """Close the writers' connection and the locks. A thread's own connection ends with the thread."""
        self._committer.stop()
        # SQLite crashes if a connection is closed while a thread uses it.
        with self._thread_lock:
            if self._writers is not None:
                self._writers.close()
            os.close(self._lock_file)
            os.close(self._turn_file)

    end = close_all

    def put(self, sql: str, values: Sequence[Any]) -> Answer:
        """Run a prepared query (models.database.queries). Lists are passed as JSON.

        Its rows are read at once: an unfinished result would keep its transaction open.
        """
        given = [
            orjson.dumps(value).decode() if isinstance(value, list) else value for value in values
        ]
        cursor: sqlite3.Cursor = self.execute_sql(sql, given)  # type: ignore[no-untyped-call]
        return Answer(cursor.fetchall(), cursor.rowcount)

    def put_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a change with each row of values. Returns how many rows changed."""
        queries.debug((sql, rows[0]))
        with _AS_PEEWEE:
            cursor = self.cursor()
            cursor.executemany(sql, rows)
        return int(cursor.rowcount)

    def fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run a prepared query that reads, inside a transaction or not. Returns its rows."""
        self.connect(reuse_if_open=True)
        return self.put(sql, values).rows

    def connection(self) -> Any:
        """The thread's connection, or the writers' connection in a write transaction.

        A connection with an unfinished result cannot write: its snapshot may be old.
        """
        base: Any = super()
        if self._writing_thread != threading.get_ident():
            return base.connection()
        if self._writers is None:
            self._writers = base._connect()  # noqa: SLF001 - as below
            self._writers.execute(f"PRAGMA cache_size = -{WRITERS_KIB}")
        return self._writers

    def _connect(self) -> sqlite3.Connection:
        """A connection of this thread."""
        base: Any = super()
        connection: sqlite3.Connection = base._connect()  # noqa: SLF001 - connect() without a thread
        self._own.connection = _OfThread(connection)
        return connection

    def cursor(self, _named_cursor: None = None) -> Any:
        """Like peewee's, on connection()."""
        return self.connection().cursor()

    def begin(self, lock_type: str | None = None) -> None:
        """Like peewee's. Raises BusyError if a program that knows no lock file locks the database."""
        base: Any = super()
        try:
            base.begin(lock_type)
        except OperationalError as error:
            if getattr(driver_error(error), "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                raise BusyError(LOCK_SECONDS) from error
            raise

    def rollback(self) -> None:
        """Like peewee's, unless SQLite has rolled back itself because the disk is full."""
        base: Any = super()
        if self.connection().in_transaction:
            base.rollback()

    def reading(self) -> AbstractContextManager[None]:
        """The thread's connection, which stays open."""
        self.connect(reuse_if_open=True)
        return nullcontext()

    @contextmanager
    def reading_together(self) -> Iterator[None]:
        """One transaction that only reads."""
        with self.reading(), self.atomic():
            yield

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Keep other writers out. Each migration is a transaction of its own. Raises BusyError.

        Such a transaction begins with a read. If another writer committed behind that, SQLite would refuse
        the first write.
        """
        with self.reading(), self._alone():
            yield

    @contextmanager
    def writing(self, _keys: Sequence[str] | None = None) -> Iterator[None]:
        """One exclusive write transaction; the keys have no effect. A nested one joins it. Raises BusyError.

        It begins IMMEDIATE: a read transaction that starts to write fails at once with SQLITE_BUSY.
        """
        if self.in_transaction():
            yield
            return
        # peewee begins nothing without a connection of the thread.
        with self.reading(), self._alone(), self.atomic("IMMEDIATE"):
            yield

    appending = writing

    def empty_log(self) -> bool:
        """Write the write-ahead log into the file, and truncate it. False if a reader still needs the log."""
        with self.reading(), self._alone():
            connection = self.connection()
            connection.execute(f"PRAGMA busy_timeout = {READERS_MS}")
            try:
                [(is_busy, _, _)] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {LOCK_SECONDS * 1000}")
            return not is_busy

    def at_end(self, write: Callable[[Sequence[Any]], None], value: Any) -> None:
        """See models.database.at_end. Here no transaction waits for the rows of another one."""
        write([value])

    async def read(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` directly: it takes microseconds."""
        with self.reading():
            return work()

    def run(self, work: Callable[[], Result], keys: Sequence[str] = ()) -> Awaitable[Result]:
        """Run ``work`` in the writer thread (models.database.commit)."""
        return self._committer.run(work, keys)

    def _commit(self, jobs: Sequence[Job]) -> None:
        self._run(jobs)
        for job in jobs:
            job.finish()

    def _run(self, jobs: Sequence[Job]) -> None:
        """Run jobs in one transaction. If one fails after a write, run each in its own transaction."""
        try:
            with self.writing():
                for job in jobs:
                    self._try(job)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            for job in jobs:
                # After a BusyError each job would wait as long again.
                if len(jobs) == 1 or isinstance(error, BusyError):
                    job.error = error
                else:
                    self._run([job])

    def _try(self, job: Job) -> None:
        """Run a job. Raises its error only if the transaction cannot continue without it."""
        connection = self.connection()
        written = connection.total_changes
        try:
            job.result, job.error = job.run(), None
        except Exception as error:
            # SQLite itself rolls the transaction back when the disk is full.
            if connection.total_changes != written or not connection.in_transaction:
                raise
            job.error = error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the write lock. Raises BusyError.

        A writer that waits for SQLite's lock polls it and sleeps for up to 100 ms in between. So writers take
        two other locks first: one among the threads of a process, one among the processes. Only one process
        at a time waits for the second one, in its turn. Otherwise a process with many writers would take it
        again and again between two looks of the others.
        """
        if not self._thread_lock.acquire(timeout=LOCK_SECONDS):
            raise BusyError(LOCK_SECONDS)
        try:
            self._lock_in_turn()
            self._writing_thread = threading.get_ident()
            yield
        finally:
            self._writing_thread = None
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)
            self._thread_lock.release()

    def _lock_in_turn(self) -> None:
        """Lock the lock file. Raises BusyError."""
        until = time.monotonic() + LOCK_SECONDS
        if not lock_within(LOCK_SECONDS, self._turn_file):
            raise BusyError(LOCK_SECONDS)
        try:
            if not lock_within(until - time.monotonic(), self._lock_file):
                raise BusyError(LOCK_SECONDS)
        finally:
            fcntl.flock(self._turn_file, fcntl.LOCK_UN)


def path_of(url: str) -> Path:
    """The file that a URL names."""
    return Path(unquote(urlsplit(url).path))
