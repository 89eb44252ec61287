"""The thread that commits for an event loop: the jobs that wait share one transaction.

A commit costs the database more than most changes (docs/decisions/0039-one-asynchronous-application.md).
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")

# The most jobs in one transaction: the first waits for the last.
MOST_TOGETHER = 64


@dataclass(eq=False)
class Job:
    """A job, the keys that it works on (models.database.write), and the future of its caller."""

    run: Callable[[], Any]
    keys: Sequence[str] = ()
    waiting: Future[Any] = field(default_factory=Future)
    result: Any = None
    error: BaseException | None = None

    def finish(self) -> None:
        """Pass on the result or the error: the transaction has ended."""
        if self.error is None:
            self.waiting.set_result(self.result)
        else:
            self.waiting.set_exception(self.error)


class Committer:
    """Calls ``commit`` with the jobs that wait, in its thread. It must finish each of them.

    Any thread with an event loop may use it. Its own thread begins with the first job.
    """

    def __init__(self, commit: Callable[[Sequence[Job]], None]) -> None:
        self._commit = commit
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._begin_lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], Result], keys: Sequence[str] = ()) -> Awaitable[Result]:
        """Run ``work`` in the thread, with the caller's context."""
        job = Job(partial(copy_context().run, work), keys)
        # From here on it cannot be cancelled.
        job.waiting.set_running_or_notify_cancel()
        # Not after the job: if no thread can start, the caller has the error, and nothing may run later.
        self._begin()
        self._jobs.put(job)
        return asyncio.wrap_future(job.waiting)

    def _begin(self) -> None:
        with self._begin_lock:
            if self._thread is None:
                # A daemon thread: no caller has a result for work that is not committed.
                thread = threading.Thread(target=self._serve, name="writer", daemon=True)
                thread.start()
                self._thread = thread

    def stop(self) -> None:
        """End the thread after the jobs that wait."""
        self._jobs.put(None)

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs = [first]
            # No other thread takes from the queue.
            while not self._jobs.empty() and len(jobs) < MOST_TOGETHER:
                if (job := self._jobs.get()) is None:
                    self._jobs.put(None)
                    break
                jobs.append(job)
            try:
                self._commit(jobs)
            except BaseException as error:  # noqa: BLE001 - raised again in the callers
                for job in jobs:
                    if not job.waiting.done():
                        job.error = error
                        job.finish()
