"""PostgreSQL as the database: a pool of connections, and concurrent write transactions.

A write transaction is exclusive unless it names the keys that it works on: then it runs concurrently with
all others without a common key (docs/decisions/0027-postgresql-beside-sqlite.md). Both use advisory locks,
which PostgreSQL releases at the end of the transaction, also if the process dies.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from hashlib import blake2b
from typing import Any, TypeVar

import psycopg
from peewee import DatabaseError, InterfaceError, InternalError, OperationalError, Psycopg3Adapter
from playhouse.pool import MaxConnectionsExceeded, PooledPostgresqlDatabase
from psycopg import Binary, postgres
from psycopg.adapt import Dumper
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumper

from models.clock import server_time
from models.database.committer import Committer, Job
from models.database.outage import driver_error, has_waited
from models.database.pipeline import COMMIT, PLANNING, Answer, EndedError, Pipeline, is_read
from models.database.session import BOUNDS, TIMEOUTS, locally

Result = TypeVar("Result")
# A function, and a value for it (models.database.at_end).
_AtEnd = tuple[Callable[[Sequence[Any]], None], Any]

# The logger to which peewee writes each query.
queries = logging.getLogger("peewee")

# Advisory locks with two numbers are separate from those with one. The pair is the lock of all writers, a
# single number is the lock of a key.
_EVERYBODY = "pg_advisory_xact_lock%s(20977, 1)"
# With more keys than this a transaction is exclusive.
MOST_KEYS = 500
# The time in seconds after which a transaction takes no further job: its keys exclude other processes.
MOST_SECONDS = 0.05
# Threads that run queries for event loops, besides the one that commits.
THREADS = 7
# How long a thread waits for a connection of the pool.
POOL_PATIENCE_SECONDS = 30
NO_CONNECTION = f"no connection of the pool was free for {POOL_PATIENCE_SECONDS} s"
# After a connection attempt without an answer, none is made for this many seconds.
SILENCE_PAUSE_SECONDS = 1


class NotAloneError(BaseException):
    """A transaction needs more than the keys that it named. It is rolled back and run again, exclusively.

    A BaseException, so that no error handler on the way catches it.
    """


class LostError(OperationalError):
    """The connection of a transaction was lost before the server reached its commit: nothing is stored."""


class UnsureError(OperationalError):
    """The connection was lost before the response to a commit: it is unknown whether it is stored.

    ``is_silent``: the server did not respond in time. Otherwise the connection ended at once.
    """

    def __init__(self, text: str, *, is_silent: bool) -> None:
        super().__init__(text)
        self.is_silent = is_silent


class _Held(threading.local):
    """The keys of the thread's transaction, None if it is exclusive.

    ``commits`` counts those that were sent, and that the server may have received. ``changes`` counts the
    statements that may have changed something. ``at_end`` is what is written at the end of a transaction that
    jobs share: functions, and values for them.
    """

    keys: Sequence[str] | None = None
    commits = 0
    changes = 0
    at_end: list[_AtEnd] | None = None


class _TextDumper(StrDumper):
    """Replaces NUL, which PostgreSQL's text cannot hold, by the Unicode replacement character."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace("\0", "\ufffd"))


class _BytesDumper(Dumper):
    """Sends bytes in hexadecimal form. psycopg's form depends on the server's settings."""

    oid = postgres.types["bytea"].oid

    def dump(self, obj: Any) -> bytes:
        return b"\\x" + bytes(obj.obj if isinstance(obj, Binary) else obj).hex().encode()


class _Adapter(Psycopg3Adapter):
    def connect(self, db: Any, **options: Any) -> Any:
        pipeline = Pipeline.open(db.database, PLANNING | BOUNDS, **options)
        try:
            server_time.measure(pipeline)
        except BaseException:
            pipeline.close()
            raise
        return pipeline


class PostgresEngine(PooledPostgresqlDatabase):
    """The database behind a URL ``postgresql://user:password@host:port/name``.

    ``connections`` is the most that this process opens. Within a transaction statements are queued until a
    result is needed (models.database.pipeline).
    """

    psycopg3_adapter = _Adapter

    def __init__(self, url: str, connections: int) -> None:
        # Of this process, and so of each connection.
        psycopg.adapters.register_dumper(str, _TextDumper)
        for kind in (bytes, bytearray, memoryview, Binary):
            psycopg.adapters.register_dumper(kind, _BytesDumper)
        super().__init__(
            url,
            max_connections=connections,
            timeout=POOL_PATIENCE_SECONDS,
            prefer_psycopg3=True,
            # A query outside of reading() and writing() would not return its connection to the pool.
            autoconnect=False,
            # psycopg must not prepare statements: after a rollback it would deallocate the pipeline's too.
            prepare_threshold=None,
        )
        self._silent_until = -math.inf
        self._held = _Held()
        self._threads = ThreadPoolExecutor(THREADS, "database")
        self._committer = Committer(self._commit)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A connection of the pool. The outermost caller returns it. Raises OperationalError."""
        try:
            opened = self.connect(reuse_if_open=True)
        except MaxConnectionsExceeded as error:
            # As when the server is unreachable: its silence keeps the connections busy.
            raise OperationalError(NO_CONNECTION) from psycopg.errors.ConnectionTimeout(str(error))
        try:
            yield
        finally:
            if opened:
                self._return()

    def _return(self) -> None:
        """Return the connection to the pool. If it was lost, close the idle ones too.

        They are to the same server, which may be frozen, or no longer the primary.
        """
        pipeline: Pipeline = self.connection()
        self.close()
        if pipeline.closed or pipeline.was_replaced:
            self.close_idle()

    @contextmanager
    def reading_together(self) -> Iterator[None]:
        """One transaction that only reads."""
        with self.reading(), self._losing(only_reads=True), self.atomic():
            yield

    @contextmanager
    def writing(self, keys: Sequence[str] | None) -> Iterator[None]:
        """One write transaction. A nested one joins the outer one.

        Without keys it excludes all other write transactions. With keys it excludes those with a common key.
        Raises NotAloneError if a nested one needs keys that the outer one does not hold.
        """
        with self.reading():
            if self.in_transaction():
                held = self._held.keys
                if held is not None and (keys is None or not set(keys) <= set(held)):
                    raise NotAloneError
                yield
                return
            with self._losing(), self.atomic():
                # The server has a few thousand locks for all sessions together.
                self._acquire_locks(None if keys and len(keys) > MOST_KEYS else keys)
                yield

    @contextmanager
    def _losing(self, *, only_reads: bool = False) -> Iterator[None]:
        """If the connection is lost in this transaction, raise LostError, or UnsureError after the commit."""
        commits = self._held.commits
        try:
            yield
        except (OperationalError, InternalError) as error:
            pipeline: Pipeline = self.connection()
            if only_reads or isinstance(driver_error(error), EndedError):
                self._held.commits = commits
            if pipeline.is_lost and self._held.commits == commits:
                raise LostError(str(error)) from error
            if pipeline.closed and self._held.commits != commits:
                raise UnsureError(str(error), is_silent=pipeline.is_silent) from error
            raise

    @contextmanager
    def appending(self) -> Iterator[None]:
        """A transaction without a lock. No other one may begin inside it."""
        with self.reading(), self._losing(), self.atomic():
            self._held.keys = ()
            yield

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """One exclusive transaction. A migration may read whole tables, so it has no timeout."""
        with self.reading(), self.atomic():
            self.put(locally({"enable_seqscan": "on"} | dict.fromkeys(TIMEOUTS, "0")))
            pipeline: Pipeline = self.connection()
            pipeline.is_patient = True
            try:
                self._acquire_locks(None)
                yield
            finally:
                pipeline.is_patient = False

    def _acquire_locks(self, keys: Sequence[str] | None) -> None:
        """First the lock of all writers, then the keys in order: a fixed order prevents deadlocks."""
        locks = [_EVERYBODY % ("" if keys is None else "_shared")]
        numbers = sorted({_number_of(key) for key in keys or ()})
        locks += ["pg_advisory_xact_lock(%s)"] * len(numbers)
        answer = self.put(f"SELECT {', '.join(locks)}", numbers)
        if keys is None:
            answer.received()
        self._held.keys = keys

    def read(self, work: Callable[[], Result]) -> Awaitable[Result]:
        """Run ``work`` in one of the threads for event loops.

        It runs again if the connection of its first transaction is lost before the server reaches the commit.
        """
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, copy_context().run, self._run, work)

    def run(self, work: Callable[[], Result], keys: Sequence[str] = ()) -> Awaitable[Result]:
        """Run ``work``, with its keys in one transaction with others, otherwise like ``read``."""
        return self._committer.run(work, keys) if keys else self.read(work)

    def end(self) -> None:
        """Close all connections, and end the thread that commits."""
        self._committer.stop()
        self.close_all()

    def at_end(self, write: Callable[[Sequence[Any]], None], value: Any) -> None:
        """See models.database.at_end."""
        if self._held.at_end is None:
            write([value])
        else:
            self._held.at_end.append((write, value))

    def _commit(self, jobs: Sequence[Job]) -> None:
        """Run jobs in as few transactions as their keys and their time allow."""
        left = [*jobs]
        while left:
            left = self._commit_first(left)

    def _commit_first(self, jobs: Sequence[Job]) -> list[Job]:
        """Run the first jobs in one transaction. Those that cannot share it run alone, in other threads.

        Returns those that are left.
        """
        together, alone, late, error = _with_few_keys(jobs), list[Job](), list[Job](), None
        left = jobs[len(together) :]
        try:
            while together and not self._is_shared(together, alone, late):
                together = [job for job in together if job not in alone]
        except BaseException as problem:  # noqa: BLE001 - raised again in the callers
            error = problem
        if error and has_waited(error):
            # The others would wait as long again.
            together, late, left = [*together, *left], [], []
        together = [job for job in together if job not in alone and job not in late]
        # What may be committed must not run again.
        if error and not (isinstance(error, UnsureError) or has_waited(error)):
            alone, together = alone + together, []
        for job in together:
            job.error = error or job.error
            job.finish()
        for job in alone:
            self._threads.submit(self._run_alone, job)
        return [*late, *left]

    def _is_shared(self, jobs: Sequence[Job], alone: list[Job], late: list[Job]) -> bool:
        """Commit these jobs together, without those that cannot be among them, which are added to ``alone``.

        ``late`` becomes those for which no time was left. Returns False if one that is alone has changed
        something, so that nothing is committed.
        """
        late[:] = jobs[1:]
        try:
            with self.writing(sorted({key for job in jobs for key in job.keys})):
                at_end = self._held.at_end = list[_AtEnd]()
                self._try(jobs[0], at_end, alone)
                # Not before: the first job waited for the locks.
                until = time.monotonic() + MOST_SECONDS
                while late and time.monotonic() < until:
                    self._try(late.pop(0), at_end, alone)
                # Each function in one call, so that it locks its rows in order.
                self._held.at_end = None
                for write in dict.fromkeys(write for write, _ in at_end):
                    write([value for each, value in at_end if each is write])
        except NotAloneError:
            return False
        finally:
            self._held.at_end = None
        return True

    def _try(self, job: Job, at_end: list[_AtEnd], alone: list[Job]) -> None:
        """Run a job. Raises its error only if the transaction cannot continue without it."""
        changes, noted = self._held.changes, len(at_end)
        try:
            job.result, job.error = job.run(), None
        except Exception as error:
            if self._held.changes != changes or isinstance(error, DatabaseError):
                raise
            job.error = error
            del at_end[noted:]
        except NotAloneError:
            alone.append(job)
            if self._held.changes != changes:
                raise
            del at_end[noted:]

    def _run_alone(self, job: Job) -> None:
        try:
            job.result, job.error = self._run(job.run), None
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            job.error = error
        job.finish()

    def _run(self, work: Callable[[], Result]) -> Result:
        commits = self._held.commits
        try:
            return work()
        except LostError:
            # Work of several transactions would repeat those before.
            if self._held.commits != commits:
                raise
        return work()

    def put(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """Run a statement. It stays prepared.

        In a transaction it is sent when its result or a later one is read. So it may fail as late as at the
        commit.
        """
        queries.debug((sql, values))
        pipeline: Pipeline = self.connection()
        self._held.changes += not is_read(sql)
        answer = pipeline.put(sql, values)
        if not self.in_transaction():
            pipeline.flush()
        return answer

    def put_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a change with each row of values. Returns how many rows changed."""
        return sum(answer.rowcount for answer in [self.put(sql, values) for values in rows])

    def fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run a prepared query that reads, inside a transaction or not. Returns its rows."""
        with self.reading():
            return self.put(sql, values).rows

    def connection(self) -> Any:
        """The thread's connection, a Pipeline."""
        if self.is_closed():
            raise InterfaceError("a query outside of reading() and writing()")
        return super().connection()

    def execute_sql(self, sql: str, params: Any = None) -> Any:
        """Like peewee's, after the queued statements. Behind a pooler it is always in a transaction.

        If the connection is lost outside of a transaction, a read runs again on a new one.
        """
        pipeline: Pipeline = self.connection()
        self._held.changes += not is_read(sql)
        if pipeline.closed and sql.startswith("ROLLBACK TO SAVEPOINT"):
            # The caller has the error. A lost connection has been rolled back already.
            return None
        is_alone = not self.in_transaction()
        is_repeatable = is_alone and is_read(sql)
        if is_alone and not is_repeatable and pipeline.is_stale:
            self._replace(pipeline)
        try:
            return self._execute(sql, params)
        except (OperationalError, InternalError):
            if not (is_repeatable and pipeline.is_lost):
                raise
        self._replace(pipeline)
        return self._execute(sql, params)

    def _execute(self, sql: str, params: Any) -> Any:
        pipeline: Pipeline = self.connection()
        if pipeline.is_pooled and not self.in_transaction():
            with self.atomic():
                return self._execute(sql, params)
        pipeline.flush()
        return super().execute_sql(sql, params)

    def begin(self, _isolation_level: Any = None) -> None:
        """Like peewee's. It is sent with the first statement whose result is needed."""
        pipeline: Pipeline = self.connection()
        pipeline.put(pipeline.begin)

    def commit(self) -> None:
        """Like peewee's. Raises InternalError if the server rolled back because an error had been ignored."""
        self._held.commits += 1
        if self.put(COMMIT).received().command_status != b"COMMIT":
            raise InternalError("the transaction was rolled back, because a part of it had failed")

    def rollback(self) -> None:
        """Like peewee's. A lost connection has been rolled back already."""
        pipeline: Pipeline = self.connection()
        pipeline.waiting.clear()
        if pipeline.info.transaction_status in {
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
        }:
            self.put("ROLLBACK")

    def _connect(self) -> Any:
        began = time.monotonic()
        try:
            # One thread connects at a time: otherwise their waits add up.
            if began < self._silent_until and not self._connections:
                raise psycopg.errors.ConnectionTimeout("no answer a moment ago")
            return super()._connect()
        except psycopg.Error as error:
            now = time.monotonic()
            if now - began > SILENCE_PAUSE_SECONDS:
                self._silent_until = now + SILENCE_PAUSE_SECONDS
            raise OperationalError(" ".join(str(error).split())) from error

    def _replace(self, pipeline: Pipeline) -> None:
        try:
            pipeline.replace()
        except psycopg.Error as error:
            raise OperationalError(str(error)) from error

    def _is_closed(self, conn: Any) -> bool:
        """Whether an idle connection should not be used.

        Peewee's own check makes a round trip each time, while all threads wait. A connection that the server
        closed is noticed at its first statement.
        """
        if conn.is_left:
            conn.close()
            return True
        return False


def _with_few_keys(jobs: Sequence[Job]) -> list[Job]:
    """The first jobs, at least one, that have no more keys together than a transaction may lock."""
    keys = set[str]()
    for index, job in enumerate(jobs):
        keys.update(job.keys)
        if index and len(keys) > MOST_KEYS:
            return [*jobs[:index]]
    return [*jobs]


def _number_of(key: str) -> int:
    """The number of a key's lock. Two keys with the same number exclude each other, which is harmless."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), signed=True)
