"""Connections to PostgreSQL, direct or through a pooler such as PgBouncer.

A pooler in transaction mode gives each transaction any of its connections. So behind a pooler a session keeps
nothing: no prepared statement, setting, lock or LISTEN.
"""

import json
import select
from collections.abc import Mapping
from typing import Any, Self

import psycopg

CONNECT_TIMEOUT_SECONDS = 5
# When the server's machine or the network is lost, a thread that waits for a response fails after half a
# minute. With the defaults of Linux it would wait for a quarter of an hour, or for ever.
PATIENCE: dict[str, Any] = {
    "connect_timeout": CONNECT_TIMEOUT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
# A process that freezes inside a transaction, or whose machine is lost, holds locks that others wait for. So
# the server ends idle transactions, lock waits and statements that take too long.
TIMEOUTS = {
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "15s",
    "statement_timeout": "30s",
}
# TCP keepalive: how the server detects that a client's machine is lost. PATIENCE is the client's side.
SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}
BOUNDS = TIMEOUTS | SERVER_KEEPALIVES

# Has no effect behind a pooler, which gives each client another process identifier. Options in the URL,
# whose source is the client, take precedence.
_CONFIGURE = """
SELECT CASE source WHEN 'client' THEN setting ELSE set_config(name, wanted.value, false) END
FROM json_each_text(%s::json) AS wanted(name, value) JOIN pg_settings USING (name) WHERE pg_backend_pid() = %s
"""


class Session(psycopg.Connection[Any]):
    """A connection in autocommit mode. ``pooled``: a pooler is in between."""

    is_pooled = False

    @classmethod
    def open(cls, url: str, settings: Mapping[str, str], **options: Any) -> Self:
        """Connect to ``url``, with these settings unless there is a pooler. Raises psycopg.Error."""
        session = cls.connect(url, autocommit=True, **PATIENCE, **options)
        try:
            known = session.execute(_CONFIGURE, [json.dumps(settings), session.info.backend_pid])
            session.is_pooled = not known.fetchall()
        except BaseException:
            session.close()
            raise
        if session.is_pooled:
            session.prepare_threshold = None
        return session


def locally(settings: Mapping[str, str]) -> str:
    """The statement that sets these settings for the current transaction."""
    calls = (f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    return f"SELECT {', '.join(calls)}"


def is_ready(line: int, seconds: float | None, events: int = select.POLLIN) -> bool:
    """Wait until a socket or pipe has one of these events. Returns False after the timeout."""
    look = select.poll()
    look.register(line, events)
    return bool(look.poll(None if seconds is None else seconds * 1000))
