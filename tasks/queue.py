"""The Huey, and the doorbells that wake its workers.

The rows in the database are the work. The queue only says that there is some, so it may lose, double or delay
what it is given.
"""

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import FileIO
from time import sleep
from typing import Any
from urllib.parse import urlsplit

from huey import MemoryHuey
from huey.storage import BaseStorage, PostgresStorage, PriorityRedisStorage, SqliteStorage
from redis import ConnectionError as RedisConnectionError
from redis import ConnectionPool
from redis.backoff import NoBackoff
from redis.retry import Retry

from models.database.session import BOUNDS, TIMEOUTS, Session, is_ready, locally
from models.database.sqlite import path_of

logger = logging.getLogger(__name__)

NAME = "gateway"
# A Redis that is silent for longer is away. Until then threads wait for it: those that put tasks on the
# queue, which keep a process from ending, and /readyz. Longer than WAIT_SECONDS.
REDIS_TIMEOUT_SECONDS = 1
# How long a worker waits for a task in a file or in Redis, until it looks whether it is to stop.
WAIT_SECONDS = 0.5


class AlarmClock(MemoryHuey):
    """Until connect() it keeps tasks in memory, which is what tests of single functions want.

    No task is ever revoked. Huey would ask the storage for that twice before each task, and write behind it.
    """

    def is_revoked(self, *_task_and_time: Any, **_options: Any) -> bool:
        """Never."""
        return False

    def delete(self, _key: str) -> None:
        """There is no revocation to delete."""


huey = AlarmClock(NAME, results=False)


class Doorbell:
    """Wakes the workers for one kind of work, at most once in ``pause`` seconds.

    A thread calls the queue. So neither an event loop nor a transaction waits for it, and the process does
    not end before the last wake-up is on the queue or lost. Workers find work whose wake-up was lost.
    """

    def __init__(self, kind: str, pause: float = 0.02) -> None:
        self.put: Callable[[], object] = huey.task(name=f"wake_for_{kind}")(self._wake)
        # The worker of this process, if it has one for this work: it needs no queue.
        self.worker: Callable[[], None] | None = None
        self.thread = ThreadPoolExecutor(1, "doorbell")
        self._pause = pause
        self._is_rung = False

    def _wake(self) -> None:
        if self.worker is not None:
            self.worker()

    def ring(self) -> None:
        """Say that there is work. Any thread may call it, after the work is committed."""
        if self.worker is not None:
            self.worker()
        elif not self._is_rung:
            self._is_rung = True
            try:
                self.thread.submit(self._answer)
            except RuntimeError:
                # The process ends, or has too many threads: the next ring tries again.
                self._is_rung = False

    def _answer(self) -> None:
        # First: a caller that sees it set has committed.
        self._is_rung = False
        try:
            self.put()
            sleep(self._pause)
        except Exception:
            logger.exception("wake-up not queued; a worker finds the work")
            # It may be away.
            sleep(1)


class FileStorage(SqliteStorage):
    """Waits for a task without polling.

    Adding a task writes a byte into a named pipe, which wakes a waiting worker. Huey's own storage polls
    instead, which takes 2.5 % of a core at an interval of 20 ms.
    """

    blocking = True

    def __init__(self, name: str, filename: str, **options: Any) -> None:
        super().__init__(name, filename=filename, **options)
        path = f"{filename}.pipe"
        with suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        # For both, so that the other end is never closed: poll() would report that without a pause.
        self._pipe = FileIO(os.open(path, os.O_RDWR | os.O_NONBLOCK), "r+")

    def close(self) -> bool:
        """As Huey's."""
        self._pipe.close()
        return bool(super().close())

    def enqueue(self, data: bytes, priority: float | None = None) -> None:
        """Add a task, and wake a process that waits for one."""
        super().enqueue(data, priority)
        # Writes nothing into a full pipe, which wakes as well.
        self._pipe.write(b"\0")

    def dequeue(self) -> bytes | None:
        """Take a task. Waits up to ``WAIT_SECONDS`` for one. None also if another thread was faster."""
        task: bytes | None = super().dequeue()
        if task is None and is_ready(self._pipe.fileno(), WAIT_SECONDS):
            # First: a task that is added behind it leaves its byte in the pipe.
            self._pipe.read(4096)
            task = super().dequeue()
        return task


class ServerStorage(PostgresStorage):
    """Connects to PostgreSQL at its first use, and makes its tables then.

    Behind a pooler, which passes no NOTIFY on, the workers poll.
    """

    def __init__(self, name: str, url: str) -> None:
        self._url = url
        super().__init__(name, connection=self._open, create_tables=False)

    def _open(self) -> Session:
        # The workers find what the last moments before a power cut put on the queue.
        session = Session.open(self._url, {"synchronous_commit": "off"} | BOUNDS)
        self.blocking = not session.is_pooled
        if session.is_pooled:
            self.begin_sql = f"begin; {locally(TIMEOUTS)}"
        try:
            # One transaction. "if not exists" fails when two processes make the same table at the same time.
            session.execute("; ".join(["SELECT pg_advisory_xact_lock(20977, 4)", *self.ddl]))
        except BaseException:
            session.close()
            raise
        return session


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
            # What the queue loses, a worker finds. So Redis is waited for only briefly.
            pool = ConnectionPool.from_url(
                url,
                socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
                socket_timeout=REDIS_TIMEOUT_SECONDS,
                # A kept connection may be closed. A Redis that is silent is not asked twice.
                retry=Retry(NoBackoff(), 1, (RedisConnectionError,)),
            )
            return PriorityRedisStorage(NAME, connection_pool=pool, read_timeout=WAIT_SECONDS)
        case _:
            path = path_of(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            # The queue need not survive a power cut: without fsync it is several times faster.
            return FileStorage(NAME, filename=str(path), fsync=False)
