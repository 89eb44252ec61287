"""The database of this process: connections for reading, and write transactions.

SQLite runs one write transaction at a time. So does PostgreSQL here, except for transactions that name the
keys they work on: see ``write``.

An event loop must not wait for a disk or a server: its work goes through ``commit`` and ``read``.
"""

import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from peewee import DatabaseProxy
from playhouse.migrations import Runner

from models.database.identifiers import sort_by_bytes
from models.database.postgresql import LostError, NotAloneError, PostgresEngine
from models.database.server_time import server_time
from models.database.sqlite import SqliteEngine

MIGRATIONS, FIRST = Path(__file__).parents[1] / "migrations", "0001_schema"
# The names of migrations that remove something the release before still uses. All others only add.
CONTRACTING = re.compile(r"\d+_contract_")

Engine = SqliteEngine | PostgresEngine
Result = TypeVar("Result")
Given = ParamSpec("Given")

database = DatabaseProxy()

# When each thread last began to use the database, by time.monotonic().
_used_at: dict[int, float] = {}


class Waiting:
    """Work that waits for other threads, and how long none of it has ended. One event loop uses it."""

    def __init__(self) -> None:
        self._jobs = 0
        self._at = 0.0

    def begin(self) -> None:
        """A job begins to wait."""
        if not self._jobs:
            self._at = time.monotonic()
        self._jobs += 1

    def end(self) -> None:
        """A job has ended."""
        self._jobs -= 1
        self._at = time.monotonic()

    def since(self) -> float | None:
        """Since when no job has ended, by time.monotonic(). None if none waits."""
        return self._at if self._jobs else None


commits = Waiting()


def connect(url: str, connections: int = 10) -> Engine:
    """Point the models at the database behind ``url``, ``sqlite:///...`` or ``postgresql://...``.

    ``connections`` bounds the pool of this process on PostgreSQL; on SQLite each thread has its own.
    """
    if database.obj is not None:
        database.obj.close_all()
    server_time.forget()
    engine = PostgresEngine(url, connections) if is_postgresql(url) else SqliteEngine(url)
    database.initialize(engine)
    return engine


def is_postgresql(url: str) -> bool:
    """Whether a URL names a PostgreSQL database."""
    return url.startswith("postgresql://")


def answers_at_once() -> bool:
    """Whether a read takes only microseconds: true on SQLite, whose file is on this machine."""
    return isinstance(database.obj, SqliteEngine)


def _engine() -> Engine:
    progress()
    engine: Engine = database.obj
    return engine


def progress() -> None:
    """Note that this thread makes progress. Each use of the database does so."""
    _used_at[threading.get_ident()] = time.monotonic()


def last_progress(thread: int) -> float:
    """When a thread last made progress, by time.monotonic(). 0 if it never did."""
    return _used_at.get(thread, 0)


def reading() -> AbstractContextManager[None]:
    """A connection for reading."""
    return _engine().reading()


def reading_together() -> AbstractContextManager[None]:
    """A transaction that only reads, so that one server runs it all. Use it in a ``repeated`` function."""
    return _engine().reading_together()


def writing() -> AbstractContextManager[None]:
    """One write transaction, exclusive of all others. A nested one joins the outer one."""
    return _engine().writing(None)


def appending() -> AbstractContextManager[None]:
    """A transaction that only inserts rows. On PostgreSQL it takes no lock, so it never waits."""
    return _engine().appending()


def write(work: Callable[[], Result], *keys: str) -> Result:
    """Run ``work`` in one write transaction. Transactions without a common key run concurrently.

    ``work`` may read and write the rows that the keys stand for, insert rows, and read rows that only
    exclusive transactions change, but not their columns of a lease (models.work). If it reaches a
    ``writing()``, or a key that it did not name, it is rolled back and run again in an exclusive transaction.
    If the connection is lost before the server reaches the commit, it is run again on a new one. So it must
    keep no state from its first run. Code before its first query may run before the transaction has its
    locks.
    """
    return _once_more(partial(_write, work, keys))


def exclusively(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run a function in one exclusive write transaction, or in that of its caller.

    If the connection is lost before the server reaches the commit, it is run again on a new one. So it must
    keep no state from its first run.
    """

    @wraps(work)
    def run(*given: Given.args, **named: Given.kwargs) -> Result:
        return _once_more(partial(_run_alone, partial(work, *given, **named)))

    return run


def repeated(work: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run a function that only reads, and again if the connection of its transaction is lost."""

    @wraps(work)
    def run(*given: Given.args, **named: Given.kwargs) -> Result:
        return _once_more(partial(work, *given, **named))

    return run


def _once_more(transaction: Callable[[], Result]) -> Result:
    """Run a transaction, and again if its connection is lost before it is committed."""
    try:
        return transaction()
    except LostError:
        if database.in_transaction():
            raise
    return transaction()


def _run_alone(work: Callable[[], Result]) -> Result:
    with writing():
        return work()


def _write(work: Callable[[], Result], keys: Sequence[str]) -> Result:
    try:
        with _engine().writing(keys):
            return work()
    except NotAloneError:
        if database.in_transaction():
            raise
    return _run_alone(work)


def empty_log() -> bool:
    """Remove copies of deleted rows from SQLite's write-ahead log. Returns whether the log is empty.

    PostgreSQL manages its own log.
    """
    engine = _engine()
    return engine.empty_log() if isinstance(engine, SqliteEngine) else True


async def commit(work: Callable[[], Result]) -> Result:
    """Run ``work``, which opens its own write transactions. Returns when all of it is committed.

    ``work`` may run twice: other work in the same transaction may roll it back, or its connection is lost
    before it commits anything. So it must keep no state from its first run. Cancelling the caller does not
    stop it.
    """
    commits.begin()
    try:
        return await _engine().run(work)
    finally:
        commits.end()


async def read(work: Callable[[], Result]) -> Result:
    """Run ``work``, which only reads: directly on SQLite, where it takes microseconds, else in a thread."""
    return await _engine().read(work)


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    with _engine().migrating():
        applied = _apply(Runner(database.obj, str(MIGRATIONS)))
        sort_by_bytes(database.obj)
    return applied


def _apply(runner: Runner) -> list[str]:
    if runner.applied():
        return list(runner.up())
    # The first one creates the present schema, on which the others would fail.
    with database.atomic():
        return [*runner.up(FIRST), *runner.fake()]


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    with reading():
        return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]


def incompatible_migrations() -> list[str]:
    """The names of applied migrations of a later release after which this one cannot run.

    Others of a later release are compatible: the two releases may run side by side.
    """
    with reading():
        known = Runner(database.obj, str(MIGRATIONS)).status()
    return [m.name for m in known if m.path is None and CONTRACTING.match(m.name)]
