"""Connections to PostgreSQL, to the server itself or to a pooler such as PgBouncer in between.

A pooler that works by transactions gives each one any of its connections. So behind one, nothing is kept in a
session: no prepared statement, no setting, no lock, no LISTEN.
"""

import json
import select
from collections.abc import Mapping
from typing import Any, Self

import psycopg

CONNECT_TIMEOUT_SECONDS = 5
# When the server's machine or the network to it is gone, a thread that waits for an answer fails after half a
# minute. By Linux's own settings it would wait for a quarter of an hour, or for ever.
PATIENCE: dict[str, Any] = {
    "connect_timeout": CONNECT_TIMEOUT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
# A process that freezes inside a transaction, or whose machine is lost, holds locks that others wait for. So
# the server ends a transaction whose client says nothing, and a wait or a statement that takes too long.
TIMEOUTS = {
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "15s",
    "statement_timeout": "30s",
}
# How the server finds out that a client's machine is gone (the client's side is PATIENCE).
SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "4",
}
BOUNDS = TIMEOUTS | SERVER_KEEPALIVES

# Changes nothing behind a pooler, which tells each client a process identifier of its own. Options in the
# URL, whose source is the client, win.
_CONFIGURE = """
SELECT CASE source WHEN 'client' THEN setting ELSE set_config(name, wanted.value, false) END
FROM json_each_text(%s::json) AS wanted(name, value) JOIN pg_settings USING (name) WHERE pg_backend_pid() = %s
"""


class Session(psycopg.Connection[Any]):
    """A connection, in autocommit mode, that knows whether it is ``pooled``: a pooler is in between."""

    is_pooled = False

    @classmethod
    def open(cls, url: str, settings: Mapping[str, str], **options: Any) -> Self:
        """Connect to ``url``, with these settings unless a pooler is in between. Raises psycopg.Error."""
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
    """The statement that gives these settings to the transaction at hand."""
    calls = (f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    return f"SELECT {', '.join(calls)}"


def is_ready(line: int, seconds: float | None, events: int = select.POLLIN) -> bool:
    """Wait at most so long until a socket or pipe has one of these events. Returns whether it has."""
    look = select.poll()
    look.register(line, events)
    return bool(look.poll(None if seconds is None else seconds * 1000))
