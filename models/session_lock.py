"""A lock on PostgreSQL that lasts as long as its process: an advisory lock of a session of its own.

PostgreSQL lets it go with the session: within milliseconds of the end of the process, and within half a
minute when the machine of the process, or the network to it, is gone without a word.
"""

import logging
import math
import select
import threading
import time
from typing import Any

import psycopg

from models.database.postgresql import CONNECT_TIMEOUT_SECONDS

logger = logging.getLogger(__name__)

Session = psycopg.Connection[Any]

# models/database/postgresql.py has the other locks of this first number. The server notices a silent client.
_TAKE = """
SELECT set_config('tcp_keepalives_idle', '10', false),
       set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false),
       pg_try_advisory_lock(20977, 3)
"""
RETRY_SECONDS = 1
# How often it is said that another process has the lock.
SAY_SECONDS = 30


def take(url: str) -> Session | None:
    """Take the lock in the database behind ``url``: the session that has it, None when another has.

    Raises psycopg.Error when the server does not answer.
    """
    session = psycopg.connect(
        url,
        autocommit=True,
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        # And the client after a silent server.
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=3,
    )
    row = session.execute(_TAKE).fetchone()
    if row is not None and row[-1]:
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
