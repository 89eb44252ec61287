"""The Huey: an alarm clock. What it loses, doubles or delays is harmless (design, section 1).

Task names are module paths and so a wire format: renaming a task needs an alias for a while.
"""

import sqlite3
from pathlib import Path
from urllib.parse import unquote, urlsplit

from huey import MemoryHuey
from huey.storage import SqliteStorage

NAME = "gateway"

# Until connect() it keeps tasks in memory, which is what tests of single functions want.
huey = MemoryHuey(NAME, results=False)

Identity = tuple[tuple[int, int] | None, ...]


class RenewedStorage(SqliteStorage):
    """Notices that its files were deleted, and begins anew.

    A connection goes on working on a deleted file. Processes that opened the queue before and after
    the deletion would never hear of each other's tasks again.
    """

    _conn: sqlite3.Connection | None
    _identity: Identity = ()

    @property
    def conn(self) -> sqlite3.Connection:
        """The connection. Huey asks for it under a lock, at each use."""
        if self._conn is not None and self._identity != self._look():
            self._conn.close()
            self._conn = None
        if self._conn is None:
            connection: sqlite3.Connection = self._create_connection()
            for statement in self.ddl:
                connection.execute(statement)
            self._conn, self._identity = connection, self._look()
        return self._conn

    def _look(self) -> Identity:
        return tuple(_identify(f"{self.filename}{suffix}") for suffix in ("", "-wal", "-shm"))


def _identify(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def connect(url: str) -> None:
    """Point the queue at ``url`` (``sqlite:///path``)."""
    path = Path(unquote(urlsplit(url).path))
    path.parent.mkdir(parents=True, exist_ok=True)
    # The queue need not survive a power cut, so it does without fsync and is several times faster.
    huey.storage = RenewedStorage(NAME, filename=str(path), fsync=False)
