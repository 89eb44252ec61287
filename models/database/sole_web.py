"""A lock for the only web process on a database: limits in memory are exact only in one process.

The lock is released when the process ends, also by a kill. On SQLite it is a file next to the database, on
PostgreSQL an advisory lock of a separate session. If the machine is lost, PostgreSQL ends the session after
half a minute. If the server freezes, or another one takes over, the process takes the lock there.
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
from models.database.sqlite import path_of
from models.file_lock import lock_within

logger = logging.getLogger(__name__)

# Seconds between two looks whether the server with the lock still works.
LOOK_SECONDS = 5
# Behind a pooler the lock's transaction may be older than the setting, so the default is read.
_IS_READ_ONLY = (
    "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
)
# Seconds between two warnings that another process has the lock.
WARNING_SECONDS = 10


class NotSoleError(Exception):
    """Another web process has the lock."""


def be_sole(url: str, seconds: float) -> None:
    """Take the lock of the database behind ``url`` and keep it.

    Waits up to ``seconds`` for another process to end, then raises NotSoleError. Raises OSError if the
    file cannot be opened. While PostgreSQL is unreachable, a thread keeps trying.
    """
    if not is_postgresql(url):
        # Never closed.
        file = os.open(f"{path_of(url)}.web.lock", os.O_WRONLY | os.O_CREAT, 0o600)
        if not lock_within(seconds, file):
            raise NotSoleError
        return
    session = None
    # While the server is unreachable no other process has the lock. The first one to connect gets it.
    with suppress(psycopg.OperationalError):
        session = _open_locked(url, seconds)
    threading.Thread(target=_hold_lock, args=(url, session), name="sole-web", daemon=True).start()


def _open_locked(url: str, seconds: float) -> Session:
    """Open a session with the lock. Raises NotSoleError or psycopg.Error."""
    session = Session.open(url, SERVER_KEEPALIVES, application_name="gateway web alone")
    bounds = locally({"lock_timeout": f"{seconds}s", "idle_in_transaction_session_timeout": "0"})
    scope = "_xact" if session.is_pooled else ""
    try:
        if session.is_pooled:
            # Behind a pooler the lock belongs to a transaction that stays open.
            session.execute(f"{session.begin}; {session.opening}")
        # models/database/postgresql.py has the other locks of this first number.
        session.execute(f"{bounds}, pg_advisory{scope}_lock(20977, 3)")
    except (LockNotAvailable, QueryCanceled):
        session.close()
        raise NotSoleError from None
    return session


def _hold_lock(url: str, session: Session | None) -> None:
    """Take the lock again when its session has ended, for example by a restart of the server."""
    while True:
        try:
            with closing(session or _open_locked(url, WARNING_SECONDS)) as held:
                while _is_primary(held):
                    # The server sends a message when it stops, and also after a reload of its settings.
                    is_ready(held.fileno(), LOOK_SECONDS)
        except NotSoleError:
            logger.warning("another web process counts in its memory: limits are not exact")
        except psycopg.Error as error:
            # Other users of the database report that it is unreachable.
            logger.debug("the lock of the web process is lost: %s", error)
        session = None
        time.sleep(1)


def _is_primary(session: Session) -> bool:
    """Whether the server responds, and is not one from which another has taken over. Raises psycopg.Error."""
    return not session.execute(_IS_READ_ONLY).fetchall()[0][0]
