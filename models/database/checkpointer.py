"""Checkpoints of SQLite in a thread of their own, so that no commit waits for the disk.

A checkpoint copies the write-ahead log into the database file. Inside a commit it takes some 15 ms, while
all other writers wait. A page that was written many times is copied once, so checkpoints are rare.

SQLite restarts the log only when a commit finds all of it copied. Under constant load there is always a page
that is not. So the last pages of a long log are copied under the write lock, which takes some 2 ms.
"""

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from peewee import OperationalError

logger = logging.getLogger(__name__)

# Pages of 4 KiB. In a longer log a read takes longer to find a page. Its pages are also written less often,
# so the kernel may have dropped one from its cache: a commit then reads it from the disk, while all writers
# wait.
LONG_LOG_PAGES = 2_000


class Checkpointer:
    """The thread that makes a checkpoint each time it is woken. ``alone()`` holds the write lock."""

    def __init__(self, path: Path, alone: Callable[[], AbstractContextManager[None]]) -> None:
        self._path = path
        self._alone = alone
        self._due = threading.Event()
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Ask for a checkpoint. One thread calls it at a time."""
        if self._thread is None:
            self._start()
        self._due.set()

    def _start(self) -> None:
        # A daemon: the process may end during a checkpoint.
        thread = threading.Thread(target=self._run, name="checkpoint", daemon=True)
        # Fails when the process ends or has too many threads. The commit stands without a checkpoint.
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def stop(self) -> None:
        """Wait for the checkpoint under way, and end the thread."""
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
            except (sqlite3.Error, OperationalError) as error:
                logger.warning("SQLite's checkpoint failed; a later one makes up for it: %s", error)

    def _copy(self) -> None:
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            if _copy_log(connection) >= LONG_LOG_PAGES:
                with self._alone():
                    _copy_log(connection)


def _copy_log(connection: sqlite3.Connection) -> int:
    """Copy the log. Returns its length in pages, or -1 while another process copies it."""
    # Passive: it waits for no reader or writer, and none waits for it.
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)
