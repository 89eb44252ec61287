"""The Huey, and the doorbells that wake its workers.

The rows in the database are the work. The queue only says that there is some, so it may lose, double or delay
what it is given.
"""

import logging
import os
import select
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock, Thread
from time import sleep
from typing import Any
from urllib.parse import unquote, urlsplit

from huey import MemoryHuey
from huey.storage import BaseStorage, PostgresStorage, PriorityRedisStorage, SqliteStorage
from redis import ConnectionError as RedisConnectionError
from redis import ConnectionPool
from redis.backoff import NoBackoff
from redis.retry import Retry

from models.database.session import BOUNDS, TIMEOUTS, Session, locally

logger = logging.getLogger(__name__)

NAME = "gateway"
CONNECT_TIMEOUT_SECONDS = 5
# A Redis that is silent for longer is away. Until then threads wait for it: those that put tasks on the
# queue, which keep a process from ending, and /readyz. Longer than WAIT_SECONDS.
REDIS_TIMEOUT_SECONDS = 1
# How long a worker waits for a task in a file or in Redis, until it looks whether it is to stop.
WAIT_SECONDS = 0.5


class AlarmClock(MemoryHuey):
    """Until connect() it keeps tasks in memory, which is what tests of single functions want."""

    def is_revoked(self, *_task_and_time: Any, **_options: Any) -> bool:
        """No task is ever revoked, and Huey would ask the storage twice for each."""
        return False

    def delete(self, _key: str) -> None:
        """Nor is there a revocation to delete, which Huey does behind each task: a transaction in SQL."""


huey = AlarmClock(NAME, results=False)


class Doorbell:
    """Wakes the workers for one kind of work, at most once in ``pause`` seconds.

    A thread calls the queue. So neither an event loop nor a transaction waits for it, and the process does
    not end before the last wake-up is on the queue or lost. Workers find work whose wake-up was lost.
    """

    # After a queue that failed: it may be away.
    FAILURE_PAUSE_SECONDS = 1.0

    def __init__(self, task: Callable[[], object], pause: float = 0.02) -> None:
        """``task`` puts itself on the queue."""
        self.put = task
        self._pause = pause
        # The worker of this process, if it has one for this work: it needs no queue.
        self.worker: Callable[[], None] | None = None
        self._reset()
        # A forked process has no thread that answers.
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = Lock()
        self._is_rung = False
        self._is_answered = False

    def ring(self) -> None:
        """Say that there is work. Any thread may call it, after the work is committed."""
        if self.worker is not None:
            self.worker()
            return
        with self._lock:
            self._is_rung = True
            if self._is_answered:
                return
            self._is_answered = True
        try:
            Thread(target=self._answer, name="doorbell").start()
        except RuntimeError:
            # The process ends, or has too many threads: the next ring tries again.
            self._is_answered = False

    def _answer(self) -> None:
        while self._take():
            try:
                self.put()
                sleep(self._pause)
            except Exception:
                logger.exception("wake-up not queued; a worker finds the work")
                sleep(self.FAILURE_PAUSE_SECONDS)

    def _take(self) -> bool:
        with self._lock:
            self._is_answered, self._is_rung = self._is_rung, False
            return self._is_answered


def doorbell(kind: str, pause: float = 0.02) -> Doorbell:
    """The doorbell of a kind of work. Its task wakes the worker that takes it."""

    def wake() -> None:
        if bell.worker is not None:
            bell.worker()

    bell = Doorbell(huey.task(name=f"wake_for_{kind}")(wake), pause)
    return bell


class FileStorage(SqliteStorage):
    """Waits for a task without polling.

    Adding a task writes a byte into a named pipe. The byte wakes one waiting worker. Huey's own storage polls
    instead, which takes 2.5 % of a core at an interval of 20 ms.
    """

    blocking = True

    @property
    def _pipe(self) -> str:
        return f"{self.filename}.pipe"

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a task, and wake a process that waits for one."""
        super().enqueue(data, priority)
        # Nobody waits, or more bytes are in the pipe than ever wait.
        with suppress(OSError):
            pipe = os.open(self._pipe, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(pipe, b"\0")
            finally:
                os.close(pipe)

    def dequeue(self) -> bytes | None:
        """Take a task. Waits up to ``WAIT_SECONDS`` for one. None also if another thread was faster."""
        with suppress(FileExistsError):
            os.mkfifo(self._pipe, 0o600)
        # Open before the look for a task: one that is added behind the look leaves its byte in the pipe.
        pipe = os.open(self._pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            task: bytes | None = super().dequeue()
            if task is None and _is_woken(pipe):
                task = super().dequeue()
        finally:
            os.close(pipe)
        return task


def _is_woken(pipe: int) -> bool:
    """Wait for a byte, and take it. False if none came, or another thread took it."""
    looked = select.poll()
    looked.register(pipe, select.POLLIN)
    if not looked.poll(WAIT_SECONDS * 1000):
        return False
    with suppress(BlockingIOError):
        return bool(os.read(pipe, 1))
    return False


class ServerStorage(PostgresStorage):
    """Connects to PostgreSQL at its first use, and makes its tables then.

    Behind a pooler, which passes no NOTIFY on, the workers poll.
    """

    _has_tables = False

    def __init__(self, name: str, url: str) -> None:
        # The workers find what the last moments before a power cut put on the queue.
        settings = {"synchronous_commit": "off"} | BOUNDS
        super().__init__(name, connection=lambda: Session.open(url, settings), create_tables=False)

    def _create_connection(self) -> Any:
        with ExitStack() as failed:
            connection: Session = super()._create_connection()
            failed.callback(connection.close)
            self.blocking = not connection.is_pooled
            if connection.is_pooled:
                self.begin_sql = f"begin; {locally(TIMEOUTS)}"
            if not self._has_tables:
                self._make_tables(connection)
            failed.pop_all()
        return connection

    def _make_tables(self, connection: Session) -> None:
        with connection.transaction():
            # "if not exists" fails when two processes make the same table at the same time.
            connection.execute("SELECT pg_advisory_xact_lock(20977, 4)")
            for statement in self.ddl:
                connection.execute(statement)
        self._has_tables = True


def connect(url: str) -> None:
    """Point the queue at ``url``: ``sqlite:///path``, ``postgresql://...`` or ``redis://...``."""
    before, huey.storage = huey.storage, open_storage(url)
    before.close()


def open_storage(url: str) -> BaseStorage:
    """The queue behind ``url``. A server is connected to at its first use."""
    match urlsplit(url).scheme:
        case "postgresql":
            return ServerStorage(NAME, url)
        case "redis" | "rediss":
            pool = _redis_pool(url)
            return PriorityRedisStorage(NAME, connection_pool=pool, read_timeout=WAIT_SECONDS)
        case _:
            path = Path(unquote(urlsplit(url).path))
            path.parent.mkdir(parents=True, exist_ok=True)
            # The queue need not survive a power cut: without fsync it is several times faster.
            return FileStorage(NAME, filename=str(path), fsync=False)


def _redis_pool(url: str) -> ConnectionPool:
    """Connections that wait for Redis only briefly: what the queue loses, a worker finds."""
    return ConnectionPool.from_url(
        url,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        # A kept connection may be closed. A Redis that is silent is not asked twice.
        retry=Retry(NoBackoff(), 1, (RedisConnectionError,)),
    )
