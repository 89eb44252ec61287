"""Connections to PostgreSQL, direct or through a pooler such as PgBouncer.

A pooler in transaction mode gives each transaction any of its connections. So behind a pooler a session keeps
nothing: no prepared statement, setting, lock or LISTEN.
"""

import json
import select
from collections.abc import Mapping
from typing import Any, Self

import psycopg

from models.database.pinned import BEGIN, BEGIN_WRITABLE, LENIENT, OUTSIDE, PINNED

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

# What a transaction behind a pooler need not set.
_OF_SESSIONS = OUTSIDE.keys() | SERVER_KEEPALIVES.keys()

# The server process that answers, the schema of the gateway's tables, and whether the role or database makes
# transactions read-only. The schema is looked up because search_path may have changed since the migration.
# Without tables it is the first schema of search_path that exists.
_LOOK = """
SELECT pg_backend_pid(), quote_ident(coalesce((
    SELECT nspname FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace
    WHERE relname IN ('schema_migration', 'huey_task') AND relkind = 'r'
        AND nspname !~ '^pg_' AND has_schema_privilege(n.oid, 'USAGE')
    ORDER BY array_position(current_schemas(false), nspname), nspname = current_user DESC,
        nspname = 'public' DESC, relname DESC
    LIMIT 1
), current_schema(), 'public')), (
    SELECT setting = 'on' AND source IN ('database', 'user', 'database user') FROM pg_settings
    WHERE name = 'default_transaction_read_only'
)
"""
# Set what this version has and this role may set, and return it. Options in the URL, whose source is the
# client, take precedence over lenient settings. Behind a pooler, which gives each client another process
# identifier, nothing is set.
_CONFIGURE = """
SELECT name, CASE WHEN pg_backend_pid() = %s THEN set_config(name, value, false) ELSE value END FROM (
    SELECT name, CASE
        WHEN is_lenient AND source = 'client' THEN setting
        WHEN name = 'synchronous_commit' AND value = 'on' AND setting LIKE 'remote%%' THEN setting
        ELSE value END AS value
    FROM (
        SELECT key, value, false FROM json_each_text(%s::json)
        UNION ALL SELECT key, value, true FROM json_each_text(%s::json)
    ) AS wanted(name, value, is_lenient) JOIN pg_settings USING (name)
    WHERE context <> 'superuser' OR current_setting('is_superuser') = 'on'
) AS chosen
"""


class Session(psycopg.Connection[Any]):
    """A connection in autocommit mode. ``is_pooled``: a pooler is in between."""

    is_pooled = False
    # The statement that begins a transaction, and behind a pooler the next one, with its settings.
    begin = BEGIN
    opening = ""

    @classmethod
    def open(cls, url: str, settings: Mapping[str, str], **options: Any) -> Self:
        """Connect to ``url``, with the pinned settings and these. Raises psycopg.Error.

        Behind a pooler they hold in transactions that start with ``begin`` and ``opening``.
        """
        session = cls.connect(url, autocommit=True, **PATIENCE, **options, client_encoding="UTF8")
        try:
            session._configure(settings)  # noqa: SLF001 - its own method
        except BaseException:
            session.close()
            raise
        return session

    def _configure(self, settings: Mapping[str, str]) -> None:
        [(process, schema, is_overruled)] = self.execute(_LOOK).fetchall()
        firm, lenient = dict(PINNED), {"search_path": schema, **LENIENT, **settings}
        if is_overruled:
            self.begin = BEGIN_WRITABLE
            firm["default_transaction_read_only"] = "off"
        given = self.info.backend_pid, json.dumps(firm), json.dumps(lenient)
        known = dict(self.execute(_CONFIGURE, given).fetchall())
        self.is_pooled = process != self.info.backend_pid
        if self.is_pooled:
            self.prepare_threshold = None
            self.opening = locally({n: v for n, v in known.items() if n not in _OF_SESSIONS})


def locally(settings: Mapping[str, str]) -> str:
    """The statement that sets these settings for the current transaction."""
    calls = (
        "set_config('{}', '{}', true)".format(name, value.replace("'", "''"))
        for name, value in settings.items()
    )
    return f"SELECT {', '.join(calls)}"


def is_ready(line: int, seconds: float | None, events: int = select.POLLIN) -> bool:
    """Wait until a socket or pipe has one of these events. Returns False after the timeout."""
    look = select.poll()
    look.register(line, events)
    return bool(look.poll(None if seconds is None else seconds * 1000))
