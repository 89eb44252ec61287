"""Copying SQLite's log into the database beside the commits, so that none of them waits for the disk.

A commit that does it itself takes some 15 ms for it, and all other writers wait for that one. What was
written many times is copied once, so it is done now and then.

The log begins anew only with a commit that finds all of it copied, and while commits come one behind the
other there is always one that is not. So the last pages of a long log are copied while nobody commits:
these few take some 2 ms.
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

logger = logging.getLogger(__name__)

# Of 4 KiB each. The longer the log, the longer each read takes to find a page in it, and the rarer each page
# of it is written: what the kernel dropped meanwhile is read from the disk first, while all writers wait.
LONG_LOG_PAGES = 2_000


class Checkpointer:
    """Does it in a thread of its own, whenever it is woken.

    No other thread or process commits while ``alone()`` is entered.
    """

    def __init__(self, path: Path, alone: Callable[[], AbstractContextManager[None]]) -> None:
        self._path = path
        self._alone = alone
        self._due = threading.Event()
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Have the log copied. Called by one thread at a time."""
        if self._thread is None:
            self._start()
        self._due.set()

    def _start(self) -> None:
        # A process may end in the middle of it.
        thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
        # What is committed is committed, though there be no thread: the process ends, or has too many.
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def stop(self) -> None:
        """Finish what is under way, and no more."""
        self._is_stopping = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            if self._is_stopping:
                return
            try:
                self._copy()
            except sqlite3.Error as error:
                logger.warning(
                    "SQLite's log was not copied; it will be with a later one: %s", error
                )

    def _copy(self) -> None:
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            if _copy_log(connection) >= LONG_LOG_PAGES:
                with self._alone():
                    _copy_log(connection)


def _copy_log(connection: sqlite3.Connection) -> int:
    """Copy what is in the log by now. Returns its length in pages, -1 while another process does it."""
    # Passive: it waits for nobody, and nobody for it.
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)
