"""The sole web process on a database: what one counts in its memory, a second one would count anew.

It holds a lock that is released when it ends, however it ends: on SQLite on a file beside the database, on
PostgreSQL an advisory lock of a session of its own. When the machine of the process is gone, PostgreSQL ends
the session after half a minute.
"""

import logging
import os
import threading
import time
from contextlib import closing, suppress

import psycopg
from psycopg.errors import LockNotAvailable, QueryCanceled

from models.database import is_postgresql
from models.database.session import SERVER_KEEPALIVES, Session, is_ready, locally
from models.database.sqlite import lock_within, path_of

logger = logging.getLogger(__name__)

# Between two warnings that another process has the lock.
WARNING_SECONDS = 10


class NotSoleError(Exception):
    """Another web process has the lock."""


def be_sole(url: str, seconds: float) -> None:
    """Have the lock of the database behind ``url`` from now on.

    Waits so many seconds for another process to end. Raises NotSoleError when it does not; OSError when
    the file cannot be opened. While PostgreSQL is away a thread goes on to ask for the lock.
    """
    if not is_postgresql(url):
        # Never closed.
        file = os.open(f"{path_of(url)}.web.lock", os.O_WRONLY | os.O_CREAT, 0o600)
        if not lock_within(seconds, file):
            raise NotSoleError
        return
    session = None
    # While the server is away there is no other web process either; the first one back has the lock.
    with suppress(psycopg.OperationalError):
        session = _open_locked(url, seconds)
    threading.Thread(target=_keep, args=(url, session), name="sole-web", daemon=True).start()


def _open_locked(url: str, seconds: float) -> Session:
    """A session that has the lock. Raises NotSoleError or psycopg.Error."""
    session = Session.open(url, SERVER_KEEPALIVES, application_name="gateway web alone")
    bounds = locally({"lock_timeout": f"{seconds}s", "idle_in_transaction_session_timeout": "0"})
    scope = "_xact" if session.is_pooled else ""
    try:
        if session.is_pooled:
            # There the lock belongs to a transaction that stays open.
            session.execute("BEGIN")
        # models/database/postgresql.py has the other locks of this first number.
        session.execute(f"{bounds}, pg_advisory{scope}_lock(20977, 3)")
    except (LockNotAvailable, QueryCanceled):
        session.close()
        raise NotSoleError from None
    return session


def _keep(url: str, session: Session | None) -> None:
    """Take the lock again whenever its session has ended, as with a restart of the server."""
    while True:
        try:
            with closing(session or _open_locked(url, WARNING_SECONDS)) as held:
                # The server says something when it goes, and also when its settings were read anew.
                while is_ready(held.fileno(), None):
                    held.execute("SELECT 1")
        except NotSoleError:
            logger.warning("another web process counts in its memory: limits are not exact")
        except psycopg.Error:
            # Others that use the database report that it is away.
            session = None
            time.sleep(1)
