"""A lock on PostgreSQL that lasts as long as its process: an advisory lock of a session of its own.

PostgreSQL lets it go with the session: within milliseconds of the end of the process, and within half a
minute when the machine of the process, or the network to it, is gone without a word. Behind a pooler the lock
is that of a transaction which stays open: it keeps one of the pooler's connections, and holds nothing else.
"""

import logging
import math
import select
import threading
import time

import psycopg

from models.database.session import SERVER_KEEPALIVES, Session

logger = logging.getLogger(__name__)

# models/database/postgresql.py has the other locks of this first number.
_TAKE = "SELECT pg_try_advisory_lock(20977, 3)"
_BEGIN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"
_TAKE_IN_TRANSACTION = "SELECT pg_try_advisory_xact_lock(20977, 3)"
RETRY_SECONDS = 1
# How often it is said that another process has the lock.
SAY_SECONDS = 30


def take(url: str) -> Session | None:
    """Take the lock in the database behind ``url``: the session that has it, None when another has.

    Raises psycopg.Error when the server does not answer.
    """
    session = Session.open(url, SERVER_KEEPALIVES, application_name="gateway web alone")
    if session.is_pooled:
        session.execute(_BEGIN)
    row = session.execute(_TAKE_IN_TRANSACTION if session.is_pooled else _TAKE).fetchone()
    if row is not None and row[0]:
        return session
    session.close()
    return None


def keep(url: str, session: Session | None) -> None:
    """Take the lock again whenever its session ends, as with a restart of the server; None has ended."""
    threading.Thread(target=_keep, args=(url, session), name="session-lock", daemon=True).start()


def _keep(url: str, session: Session | None) -> None:
    while True:
        if session:
            _wait_until_lost(session)
        session = _take_again(url)


def _wait_until_lost(session: Session) -> None:
    look = select.poll()
    look.register(session.fileno(), select.POLLIN)
    try:
        while True:
            look.poll()
            # The server says something when it goes, and also when its settings were read anew.
            session.execute("SELECT 1")
    except psycopg.Error:
        session.close()


def _take_again(url: str) -> Session:
    said_at = -math.inf
    while True:
        try:
            if session := take(url):
                return session
            if time.monotonic() - said_at > SAY_SECONDS:
                logger.warning("another web process counts in its memory: limits are not exact")
                said_at = time.monotonic()
        except psycopg.Error:
            # Others that use the database report that it is away.
            pass
        time.sleep(RETRY_SECONDS)
