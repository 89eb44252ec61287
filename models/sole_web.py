"""The sole web process on a database: what one counts in its memory, a second one would count anew.

It holds a lock for as long as it runs, however it ends: on SQLite on a file beside the database, on
PostgreSQL in a session of its own.
"""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import psycopg

from models import session_lock
from models.database import is_postgresql

POLL_SECONDS = 0.1

Held = TypeVar("Held")


class NotSoleError(Exception):
    """Another web process has the lock."""


def be_sole(url: str, seconds: float) -> None:
    """Have the lock of the database behind ``url`` from now on.

    Waits so many seconds for another process to end. Raises NotSoleError when it does not; OSError when
    the file cannot be opened. While PostgreSQL is away a thread goes on to ask for the lock.
    """
    if is_postgresql(url):
        session = None
        # While the server is away there is no other web process either; the first one back has the lock.
        with suppress(psycopg.OperationalError):
            session = _wait_for(lambda: session_lock.take(url), seconds)
        session_lock.keep(url, session)
    else:
        path = Path(unquote(urlsplit(url).path))
        # Never closed: the kernel lets it go when the process ends.
        file = os.open(path.with_name(f"{path.name}.web.lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        _wait_for(lambda: _try_lock(file), seconds)


def _wait_for(take: Callable[[], Held | None], seconds: float) -> Held:
    deadline = time.monotonic() + seconds
    while True:
        if held := take():
            return held
        if time.monotonic() > deadline:
            raise NotSoleError
        time.sleep(POLL_SECONDS)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
