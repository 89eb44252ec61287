"""Connections to PostgreSQL, direct or through a pooler such as PgBouncer.

A pooler in transaction mode gives each transaction any of its connections. So behind a pooler a session keeps
nothing: no prepared statement, setting, lock or LISTEN.
"""

import json
import select
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import ConnectionTimeout, ReadOnlySqlTransaction, TooManyConnections
from psycopg.pq import TransactionStatus

from models.database import hosts, resolver
from models.database.session_settings import BEGIN, BEGIN_WRITABLE, LENIENT, OUTSIDE, PINNED

CONNECT_TIMEOUT_SECONDS = 5
# How long the client waits for a response. A server that is frozen, or a proxy that lost it, ends no
# statement. So this exceeds statement_timeout, after which a server that works has responded. If the URL sets
# a longer statement_timeout, the client waits for that and MARGIN_SECONDS.
ANSWER_SECONDS = 20
MARGIN_SECONDS = 5
# If another server may be the primary already, a new connection looks after this time whether the one that
# does not respond is frozen, or whether a pooler has left it. Sessions follow one that noticed it earlier.
LOOK_SECONDS = 1.5
STEP_SECONDS = 0.5
# When the server's machine or the network is lost, the kernel ends the connection after half a minute. With
# the defaults of Linux an idle connection would last for ever.
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
    "lock_timeout": "10s",
    "statement_timeout": "15s",
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
# The units of PostgreSQL's durations, in seconds.
_UNITS = {"": 0.001, "ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}
# How the SQLSTATE of a broken connection starts.
_BROKEN = "08"
_READ_ONLY = b"default_transaction_read_only"
_IS_WORKING = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s AND state = 'active'"


class NotPrimaryError(psycopg.OperationalError):
    """The server has become read-only: a standby, or a former primary. Its transaction is rolled back."""


class Session(psycopg.Connection[Any]):
    """A connection in autocommit mode. ``is_pooled``: a pooler is in between.

    It closes itself if the server does not respond in time, or became read-only, and raises OperationalError.
    """

    is_pooled = False
    # The statement that begins a transaction, and behind a pooler the next one, with its settings.
    begin = BEGIN
    opening = ""
    answer_seconds: float = ANSWER_SECONDS
    # Whether a statement may take as long as the server works on it.
    is_patient = False
    # Whether the server did not respond in time.
    is_silent = False
    # Whether the URL names several hosts, and asks for the primary.
    needs_primary = False
    url = ""
    # Behind a pooler, the primary at the beginning of the transaction.
    server: str | None = None
    # Opens another session with the same settings.
    open_another: Callable[..., Self]

    @classmethod
    def open(cls, url: str, settings: Mapping[str, str], **options: Any) -> Self:
        """Connect to ``url``, with the pinned settings and these. Raises psycopg.Error.

        Behind a pooler they hold in transactions that start with ``begin`` and ``opening``. A session that
        ends while it is set up is replaced once: a pooler may give it a connection that the server closed.
        """
        session = cls._connect_to(url, settings, **options)
        try:
            try:
                session._configure(settings)  # noqa: SLF001 - its own method
            except psycopg.Error:
                if not session.is_lost:
                    raise
                session = cls._connect_to(url, settings, **options)
                session._configure(settings)  # noqa: SLF001 - its own method
        except BaseException:
            session.close()
            raise
        hosts.remember(url, session.info.host, session.info.port)
        return session

    @classmethod
    def _connect_to(cls, url: str, settings: Mapping[str, str], **options: Any) -> Self:
        ordered = hosts.order(url)
        given = PATIENCE | ordered | options | {"client_encoding": "UTF8"}
        places = resolver.resolve(url, given)
        session = cls.connect(url, autocommit=True, **given | places)
        session.url = url
        session.needs_primary = ordered.get("target_session_attrs") in {"read-write", "primary"}
        session.open_another = partial(cls.open, url, settings, **options)
        return session

    def _configure(self, settings: Mapping[str, str]) -> None:
        [(process, schema, is_overruled)] = self.execute(_LOOK).fetchall()
        firm, lenient = dict(PINNED), {"search_path": schema, **LENIENT, **settings}
        if is_overruled:
            self.begin = BEGIN_WRITABLE
            firm["default_transaction_read_only"] = "off"
        given = self.info.backend_pid, json.dumps(firm), json.dumps(lenient)
        known = dict(self.execute(_CONFIGURE, given).fetchall())
        self.answer_seconds = _patience(known.get("statement_timeout", "0"))
        self.is_pooled = process != self.info.backend_pid
        if self.is_pooled:
            self.prepare_threshold = None
            self.opening = locally({n: v for n, v in known.items() if n not in _OF_SESSIONS})
            hosts.note_primary(self.url, self)

    @property
    def is_stale(self) -> bool:
        """Whether an idle connection should not be used. The check makes no round trip.

        The server sends nothing to an idle connection before it closes it. With a response, PostgreSQL 14 and
        later report that they have become read-only.
        """
        return self.is_left or is_ready(self.fileno(), 0)

    @property
    def is_left(self) -> bool:
        """Whether the connection is closed, or to a server that is not the primary. Makes no system call."""
        if self.closed or not self.needs_primary:
            return self.closed
        is_read_only = self.pgconn.parameter_status(_READ_ONLY) == b"on"
        return is_read_only or hosts.is_avoided(self.url, self.info.host, self.info.port)

    @property
    def is_lost(self) -> bool:
        """Whether the connection ended, but not because the server is silent."""
        return self.closed and not self.is_silent

    def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        """Like psycopg's, for at most ``answer_seconds`` unless there is a ``timeout``."""
        if self.info.transaction_status is TransactionStatus.IDLE:
            self.note_server()
        try:
            if timeout is not None:
                return super().wait(gen, interval, timeout)
            return self._wait_for_answer(gen, interval)
        except psycopg.Error as error:
            self.leave_if_read_only(error)
            if (error.sqlstate or "").startswith(_BROKEN):
                # A pooler says that it lost the server, and then closes the connection.
                self.close()
            raise

    def _wait_for_answer(self, gen: PQGen[Any], interval: float) -> Any:
        for seconds in self.waits():
            try:
                return super().wait(gen, interval, seconds)
            except psycopg.OperationalError:
                # A wait that timed out leaves the statement running. It can be continued.
                if self.closed or self.info.transaction_status is not TransactionStatus.ACTIVE:
                    raise
        raise AssertionError

    def waits(self) -> Iterator[float]:
        """Seconds to wait for a response, one after the other. Raises ConnectionTimeout at the end."""
        began = time.monotonic()
        may_look = not self.is_patient and (self.needs_primary or self._may_be_pooled)
        while True:
            while (rest := began + self.answer_seconds - time.monotonic()) > 0:
                yield min(STEP_SECONDS, rest) if may_look else rest
                # A response may have come during the look.
                if may_look and self._was_left(began) and not is_ready(self.fileno(), 0):
                    self._give_up("another server may respond, and this one does not")
            if not (self.is_patient and self._is_working()):
                self._give_up(f"the server has not responded for {self.answer_seconds:g} s")
            began = time.monotonic()

    @property
    def _may_be_pooled(self) -> bool:
        """Whether a pooler is in between. A session that is not configured yet goes by earlier ones."""
        return self.is_pooled or self.server is not None

    def note_server(self) -> None:
        """Call it before a transaction begins."""
        self.server = hosts.primary_of(self.url)

    def _was_left(self, began: float) -> bool:
        if self.needs_primary and hosts.is_avoided(self.url, self.info.host, self.info.port):
            return True
        if time.monotonic() - began < LOOK_SECONDS:
            return False
        if self._may_be_pooled:
            return hosts.has_another_primary(self.url, self.server)
        return not hosts.responds(self.url, self.info)

    def rollback(self) -> None:
        """Like psycopg's. A lost connection has been rolled back already."""
        if not self.closed:
            super().rollback()

    def _give_up(self, reason: str) -> None:
        self.is_silent = True
        hosts.avoid(self.url, self.info.host, self.info.port)
        self.close()
        raise ConnectionTimeout(reason)

    def leave_if_read_only(self, error: psycopg.Error) -> None:
        """Close the connection, and raise NotPrimaryError, if the error says that the server is read-only."""
        if isinstance(error, ReadOnlySqlTransaction):
            self.close()
            raise NotPrimaryError(f"the server is read-only: {error}") from error

    def _is_working(self) -> bool:
        """Ask the same server over another connection if it still runs this session's statement."""
        here = self.info
        place = {"host": here.host, "hostaddr": here.hostaddr, "port": here.port}
        try:
            with self.open_another(**place, target_session_attrs="any") as other:
                if self.is_pooled:
                    return True
                return bool(other.execute(_IS_WORKING, [here.backend_pid]).fetchall()[0][0])
        except TooManyConnections:
            return True
        except psycopg.Error:
            return False


def _patience(statement_timeout: str) -> float:
    """The wait that fits a value such as ``15s``, ``2min`` or ``0``, which means no limit."""
    number = statement_timeout.rstrip("".join(_UNITS))
    seconds = int(number) * _UNITS[statement_timeout.removeprefix(number)]
    return max(ANSWER_SECONDS, seconds + MARGIN_SECONDS) if seconds else ANSWER_SECONDS


def locally(settings: Mapping[str, str]) -> str:
    """The statement that sets these settings for the current transaction."""
    calls = (
        "set_config('{}', '{}', true)".format(name, value.replace("'", "''"))
        for name, value in settings.items()
    )
    return f"SELECT {', '.join(calls)}"


def is_ready(line: int, seconds: float, events: int = select.POLLIN) -> bool:
    """Wait until a socket or pipe has one of these events. Returns False after the timeout."""
    look = select.poll()
    look.register(line, events)
    return bool(look.poll(seconds * 1000))
