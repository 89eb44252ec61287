"""Work on the database for callers on an event loop, which must never wait for a disk or a server.

SQLite has one writer at a time. So one thread does all the writing, and all work that waits for it shares one
transaction (docs/decisions/0039-one-asynchronous-application.md). On PostgreSQL a few threads work side by
side.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from models import database

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

# So many share a transaction at the most: the first waits for the last.
MOST_TOGETHER = 64
# Threads that work on PostgreSQL.
THREADS = 8


async def commit(work: Callable[[], Result]) -> Result:
    """Run ``work``, which writes in transactions of its own. Returns when all of it is committed.

    ``work`` may run twice: what others did in the same transaction may have undone it. It keeps nothing from
    its first time. Cancelling the caller does not stop it.
    """
    if database.answers_at_once():
        return await _writer.run(work)
    return await in_pool(work)


async def read(work: Callable[[], Result]) -> Result:
    """Run ``work``, which only reads: at once where that takes microseconds, else in a thread."""
    if not database.answers_at_once():
        return await in_pool(work)
    with database.reading():
        return work()


async def in_pool(work: Callable[[], Result]) -> Result:
    """Run ``work`` in one of the threads for the database."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_pool, copy_context().run, work)


@dataclass
class _Job:
    """A piece of work, and who waits for it."""

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
        """On the event loop: hand over what came of it, unless the caller is gone."""
        if self.waiting.done():
            return
        if self.error is None:
            self.waiting.set_result(self.result)
        else:
            self.waiting.set_exception(self.error)


class Writer:
    """The thread that writes."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in the thread. Raises what it raises, and what the commit raises."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Result] = loop.create_future()
        self._jobs.put(_Job(work, loop, waiting))
        self._start()
        return await waiting

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon: nobody was promised anything about work that is not committed.
                self._thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while True:
            batch = self._take()
            try:
                _run_together(batch)
            except BaseException:  # noqa: BLE001 - each job keeps its own error
                for job in batch:
                    _run_alone(job)
            for loop in {job.loop for job in batch}:
                _settle(loop, [job for job in batch if job.loop is loop])

    def _take(self) -> list[_Job]:
        batch = [self._jobs.get()]
        try:
            while len(batch) < MOST_TOGETHER:
                batch.append(self._jobs.get_nowait())
        except Empty:
            pass
        return batch


def _run_together(batch: Sequence[_Job]) -> None:
    """Run all in one transaction. Raises, and commits nothing, when one fails that has written something."""
    if len(batch) == 1:
        _run_alone(batch[0])
        return
    with database.writing():
        connection = database.database.connection()
        for job in batch:
            written = connection.total_changes
            try:
                job.run()
            except Exception as error:
                # SQLite itself rolls the transaction back when the disk is full.
                if connection.total_changes != written or not connection.in_transaction:
                    raise
                job.error = error


def _run_alone(job: _Job) -> None:
    try:
        with database.writing():
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


_writer = Writer()
_pool = ThreadPoolExecutor(THREADS, "database")
