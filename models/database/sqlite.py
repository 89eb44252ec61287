"""SQLite as the database: one file, a connection for each thread that reads, and one for the writers.

It runs in WAL mode. Commits survive the end of any process. Whether they survive a power cut is the
operator's choice (docs/decisions/0004-sqlite-durability.md).

One thread does the writing of event loops. All work that waits for it shares one transaction
(docs/decisions/0039-one-asynchronous-application.md).
"""

import asyncio
import fcntl
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

from peewee import OperationalError, SqliteDatabase

from models.database.checkpointer import LONG_LOG_PAGES, Checkpointer

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# How long a writer waits for another that has a lock. A process that freezes keeps its lock.
LOCK_SECONDS = 10
# Between two looks at the lock that another process has.
LOCK_POLL_SECONDS = 0.001
# The most pieces of work that share a transaction: the first waits for the last.
MOST_TOGETHER = 64
# A commit that finds so many pages in the log makes a checkpoint itself, while all other writers wait. That
# happens only when the Checkpointer does not keep up.
MAX_LOG_PAGES = 8 * LONG_LOG_PAGES
FULL = "synchronous=full"
# Commits between two checkpoints. They fill some 2,000 pages of the log.
COMMITS = 100


class BusyError(OperationalError):
    """Another writer kept the lock for too long. Nothing was written."""

    def __init__(self) -> None:
        super().__init__(f"another writer has kept the database locked for {LOCK_SECONDS} s")


class _Answer:
    """The result of a statement, read at once: another thread may use the connection next."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._rows: list[tuple[Any, ...]] = cursor.fetchall()
        self.rowcount = cursor.rowcount

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""
        return self._rows


class _Database(SqliteDatabase):
    def put(self, sql: str, values: Sequence[Any]) -> _Answer:
        """Run a prepared query (models.database.rows). A list is given to it as JSON."""
        execute: Any = self.execute_sql
        given = [json.dumps(value) if isinstance(value, list) else value for value in values]
        return _Answer(execute(sql, given))

    def rollback(self) -> None:
        """As peewee's, unless SQLite has rolled the transaction back itself: its disk is full."""
        base: Any = super()
        if base.connection().in_transaction:
            base.rollback()


@dataclass
class _Job:
    """A piece of work, and the caller that waits for it."""

    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    waiting: asyncio.Future[Any]
    context: Context = field(default_factory=copy_context)
    result: Any = None
    error: BaseException | None = None

    def run(self) -> None:
        self.result, self.error = None, None
        self.result = self.context.run(self.work)

    def settle(self) -> None:
        """Hand the result to the caller, on its event loop, unless it is gone."""
        if self.waiting.done():
            return
        if self.error is None:
            self.waiting.set_result(self.result)
        else:
            self.waiting.set_exception(self.error)


class _Writer:
    """The thread that writes for event loops."""

    def __init__(self, engine: "SqliteEngine") -> None:
        self._engine = engine
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in the thread. Raises what it raises, and what the commit raises."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Result] = loop.create_future()
        self._jobs.put(_Job(work, loop, waiting))
        self._start()
        return await waiting

    def stop(self) -> None:
        """Let the thread end behind the work that waits."""
        self._jobs.put(None)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon: no caller has an answer yet for work that is not committed.
                self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch = [first, *self._more()]
            try:
                self._run_together(batch)
            except BusyError as error:
                # Each of them would wait as long again.
                for job in batch:
                    job.error = error
            except BaseException:  # noqa: BLE001 - each job keeps its own error
                for job in batch:
                    self._run_alone(job)
            for loop in {job.loop for job in batch}:
                _settle(loop, [job for job in batch if job.loop is loop])

    def _more(self) -> list[_Job]:
        more: list[_Job] = []
        while len(more) + 1 < MOST_TOGETHER:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            if job is None:
                self.stop()
                break
            more.append(job)
        return more

    def _run_together(self, batch: Sequence[_Job]) -> None:
        """Run all in one transaction. Raises, and commits nothing, when one fails that has written."""
        if len(batch) == 1:
            self._run_alone(batch[0])
            return
        with self._engine.writing():
            connection = cast("Any", self._engine.database).connection()
            for job in batch:
                written = connection.total_changes
                try:
                    job.run()
                except Exception as error:
                    # SQLite itself rolls the transaction back when the disk is full.
                    if connection.total_changes != written or not connection.in_transaction:
                        raise
                    job.error = error

    def _run_alone(self, job: _Job) -> None:
        try:
            with self._engine.writing():
                job.run()
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            job.error = error


def _settle(loop: asyncio.AbstractEventLoop, jobs: Sequence[_Job]) -> None:
    def settle() -> None:
        for job in jobs:
            job.settle()

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        logger.warning("the event loop ended before %d pieces of work were committed", len(jobs))


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
            timeout=LOCK_SECONDS,
            # The writer's connection goes from thread to thread, one at a time.
            check_same_thread=False,
        )
        self._writing: sqlite3.Connection | None = None
        self._writer = _Writer(self)
        self._commits = 0

    def close(self) -> None:
        """Close the writers' connection and the lock file. A thread's own connection ends with the thread."""
        self._writer.stop()
        self._checkpointer.stop()
        # SQLite crashes when a connection is closed while a thread uses it.
        with self._thread_lock:
            if self._writing is not None:
                self._writing.close()
            os.close(self._lock_file)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The thread's connection, which stays open."""
        self.database.connect(reuse_if_open=True)
        yield

    async def commit(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in the thread that writes (models.database.engine)."""
        return await self._writer.run(work)

    @contextmanager
    def writing(self, _keys: Sequence[str] | None = None) -> Iterator[None]:
        """One write transaction, alone whatever its keys. An inner one joins the outer one. Raises BusyError.

        It begins IMMEDIATE: a read transaction that starts to write fails at once with SQLITE_BUSY. A writer
        that waits for SQLite's own lock polls it, and sleeps for up to 100 ms in between. So writers wait for
        two locks of ours instead: the threads of a process for one, the processes for the other.
        """
        with self._alone_in_process():
            if self.database.in_transaction():
                yield
                return
            with self._as_writer(), self._alone(), self.database.atomic("IMMEDIATE"):
                yield
            self._commits += 1
            if self._commits % COMMITS == 0:
                self._checkpointer.wake()

    @contextmanager
    def _as_writer(self) -> Iterator[None]:
        """The writers' connection in place of the thread's own.

        Its cache holds the pages of earlier writes. A thread's own connection would have to read them again.
        """
        database = cast("Any", self.database)
        if self._writing is None:
            self._writing = database._connect()  # noqa: SLF001 - connect() without a thread
        state = database._state  # noqa: SLF001 - peewee's connection of this thread
        own = vars(state).copy()
        state.set_connection(self._writing)
        try:
            yield
        finally:
            vars(state).update(own)

    def appending(self) -> AbstractContextManager[None]:
        """As any write transaction."""
        return self.writing(())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the write lock. The kernel releases the lock of a process that dies. Raises BusyError."""
        with self._alone_in_process():
            self._lock()
            try:
                yield
            finally:
                fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    @contextmanager
    def _alone_in_process(self) -> Iterator[None]:
        """Be the only thread that writes."""
        if not self._thread_lock.acquire(timeout=LOCK_SECONDS):
            raise BusyError
        try:
            yield
        finally:
            self._thread_lock.release()

    def _lock(self) -> None:
        """Exclude the other processes. A wait in the kernel would have no end."""
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BusyError from None
                time.sleep(LOCK_POLL_SECONDS)
            else:
                return

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Each migration is a transaction, and SQLite has one at a time."""
        with self.reading():
            yield
