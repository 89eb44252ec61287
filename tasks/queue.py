"""The Huey queue, and the doorbells that wake its workers.

The rows in the database are the work. The queue only signals that there is some, so lost, duplicated and
late tasks do no harm.
"""

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from io import FileIO
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import psycopg
from huey import MemoryHuey
from huey.storage import BaseStorage, PostgresStorage, PriorityRedisStorage, SqliteStorage

from models import doorbells
from models.database.redis_pool import open_pool
from models.database.session import BOUNDS, TIMEOUTS, Session, is_ready
from models.database.sqlite import path_of
from tasks.spacing import Spacing

logger = logging.getLogger(__name__)

NAME = "gateway"
# Time-out of Redis. The doorbell threads, which delay the exit of a process, and /readyz wait for that long.
# It must exceed WAIT_SECONDS.
REDIS_TIMEOUT_SECONDS = 1
# How long a worker waits for a task in a file or in Redis before it checks whether it should stop.
WAIT_SECONDS = 0.5

# The time between two wake-ups for a kind of work while they follow each other.
RING_SECONDS = 0.015

# PostgreSQL as the queue. A wake-up is not worth a longer wait.
SERVER_ANSWER_SECONDS = 5
SERVER_TIMEOUTS = TIMEOUTS | {"lock_timeout": "3s", "statement_timeout": "4s"}


class AlarmClock(MemoryHuey):
    """Stores tasks in memory until connect(), for tests of single functions.

    No task is ever revoked. The overrides spare Huey's two queries and one write for that with each task.
    """

    def is_revoked(self, *_task_and_time: Any, **_options: Any) -> bool:
        return False

    def delete(self, _key: str) -> None:
        pass


huey = AlarmClock(NAME, results=False)


class Doorbell:
    """Wakes the workers for one kind of work when ``port`` rings. A burst of rings is one wake-up.

    A thread writes to the queue, so that no event loop and no transaction waits for it. The process exits
    only after the last wake-up is queued or lost. Workers also find work whose wake-up was lost.
    """

    def __init__(self, port: doorbells.Doorbell, kind: str) -> None:
        port.ring = self.ring
        self.put: Callable[[], object] = huey.task(name=f"wake_for_{kind}")(self._wake)
        # The worker for this work, if it runs in this process. It needs no queue.
        self.worker: Callable[[], None] | None = None
        self.thread = ThreadPoolExecutor(1, "doorbell")
        self._spacing = Spacing(RING_SECONDS)
        self._is_rung = False

    def _wake(self) -> None:
        if self.worker is not None:
            self.worker()

    def ring(self) -> None:
        """Signal that there is work. Call it after the commit, from any thread."""
        try:
            if (worker := self.worker) is not None:
                worker()
            elif not self._is_rung:
                self._is_rung = True
                self.thread.submit(self._answer)
        except RuntimeError:
            # The process is exiting or has too many threads. The next ring tries again.
            self._is_rung = False

    def _answer(self) -> None:
        # Clear the flag first: a caller that sees it set has committed.
        self._is_rung = False
        try:
            self.put()
            sleep(self._spacing.pause())
        except Exception:
            logger.exception("wake-up not queued; a worker finds the work")
            # The queue may be unreachable.
            sleep(1)


deliveries = Doorbell(doorbells.deliveries, "deliveries")
callbacks = Doorbell(doorbells.callbacks, "callbacks")
redeliveries = Doorbell(doorbells.redeliveries, "redeliveries")
erasures = Doorbell(doorbells.erasures, "erasures")


class FileStorage(SqliteStorage):
    """Waits for a task without polling.

    Adding a task writes a byte into a named pipe, which wakes a waiting worker. Huey's storage polls instead,
    which takes 2.5 % of a core at an interval of 20 ms.
    """

    blocking = True

    def __init__(self, name: str, filename: str, **options: Any) -> None:
        super().__init__(name, filename=filename, **options)
        path = f"{filename}.pipe"
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # Open for reading and writing, because poll() would report a closed other end all the time.
        self._pipe = FileIO(os.open(path, os.O_RDWR | os.O_NONBLOCK), "r+")

    def close(self) -> bool:
        self._pipe.close()
        return bool(super().close())

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a task, and wake a waiting process."""
        super().enqueue(data, priority)
        # A full pipe takes no byte, but it wakes readers too.
        self._pipe.write(b"\0")

    def dequeue(self) -> bytes | None:
        """Take a task, after a wait of up to ``WAIT_SECONDS``. None also if another thread was faster."""
        task: bytes | None = super().dequeue()
        if task is None and is_ready(self._pipe.fileno(), WAIT_SECONDS):
            # Empty the pipe first: a task that is added later leaves its byte in it.
            self._pipe.read(4096)
            task = super().dequeue()
        return task


class ServerStorage(PostgresStorage):
    """Connects to PostgreSQL at its first use, and creates its tables then.

    Behind a pooler, which does not forward NOTIFY, the workers poll.
    """

    def __init__(self, name: str, url: str) -> None:
        self._url = url
        super().__init__(name, connection=self._open, blocking=False, create_tables=False)

    @contextmanager
    def db(self, commit: bool = False, close: bool = False) -> Iterator[Any]:  # noqa: FBT001, FBT002 - Huey's
        """Like Huey's. Behind a pooler each statement is in a transaction, which has the settings."""
        with super().db(commit=commit or not self.blocking, close=close) as cursor:
            yield cursor

    @property
    def conn(self) -> Session:
        """The connection of all threads. One that the server closed meanwhile is replaced."""
        session: Session = super().conn
        if session.is_stale:
            session.close()
            session = super().conn
        return session

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a task. If the connection is lost, add it on a new one: a second wake-up does no harm."""
        try:
            super().enqueue(data, priority)
        except psycopg.errors.ConnectionTimeout:
            raise
        except psycopg.OperationalError:
            super().enqueue(data, priority)

    def dequeue(self) -> bytes | None:
        """As in Huey. After an error the connection that waits is closed too: it is to the same server."""
        try:
            task: bytes | None = super().dequeue()
        except psycopg.Error:
            self.close()
            raise
        return task

    def _open(self) -> Session:
        # No wait for the disk: workers find work whose wake-up a power cut erased.
        settings = {"synchronous_commit": "off"} | BOUNDS | SERVER_TIMEOUTS
        session = Session.open(self._url, settings)
        session.answer_seconds = SERVER_ANSWER_SECONDS
        self.blocking = not session.is_pooled
        self.begin_sql = "; ".join(filter(None, [session.begin, session.opening]))
        try:
            # A lock in the same transaction, because concurrent "if not exists" of one table fails.
            lock = "SELECT pg_advisory_xact_lock(20977, 4)"
            session.execute("; ".join([self.begin_sql, lock, *self.ddl, "COMMIT"]))
        except BaseException:
            session.close()
            raise
        return session


def connect(url: str) -> None:
    """Point the queue at ``url``: ``sqlite:///path``, ``postgresql://...`` or ``redis://...``."""
    before, huey.storage = huey.storage, open_storage(url)
    before.close()


def open_storage(url: str) -> BaseStorage:
    """The queue at ``url``. Connects to a server at its first use."""
    match urlsplit(url).scheme:
        case "postgresql":
            return ServerStorage(NAME, url)
        case "redis" | "rediss" | "redis+sentinel" | "rediss+sentinel":
            # A short time-out, because workers find the work of lost wake-ups.
            pool = open_pool(url, REDIS_TIMEOUT_SECONDS)
            return PriorityRedisStorage(NAME, connection_pool=pool, read_timeout=WAIT_SECONDS)
        case _:
            path = path_of(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Without fsync it is several times faster. The queue need not survive a power cut.
            return FileStorage(NAME, filename=str(path), fsync=False)
