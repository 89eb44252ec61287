"""Reads and changes a service's stored data directly, on any backend."""

import fcntl
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import psycopg
from redis import Redis

Row = tuple[Any, ...]
Connection = sqlite3.Connection | psycopg.Connection[Row]

BUSY_SECONDS = 30
# A queue on PostgreSQL shares the database: these tables are the queue's, not the service's.
QUEUE_TABLES = ("huey_counter", "huey_kv", "huey_schedule", "huey_task")
# Settings of the role matter here as little as for the service: without triggers, sums would be wrong. They
# are set for this transaction only, because a pooler gives its connection to the service next.
USUAL = "SET LOCAL search_path = public; SET LOCAL session_replication_role = origin"
# Behind a pooler, a web process holds its lock in a transaction as long as it runs
# (models/database/sole_web.py).
LOCKED_BY_WEB = "SELECT pid FROM pg_locks WHERE classid = 20977 AND objid = 3 AND granted"
DATABASE_FILE = "gateway.db"
# Writers lock this file around their transactions.
LOCK_FILE = f"{DATABASE_FILE}.lock"
QUEUE_FILES = ("queue.db", "queue.db-wal", "queue.db-shm")


@dataclass(frozen=True)
class Stored:
    """The database and the queue of the service with this environment. Placeholders are ``?``.

    Opens a connection for each query, unless a connection is ``kept``.
    """

    environment: Mapping[str, str]
    kept: Connection | None = None

    @property
    def folder(self) -> Path:
        """DATA_DIR."""
        return Path(self.environment["GATEWAY_DATA_DIR"])

    @property
    def database_path(self) -> Path:
        """The file of a SQLite database."""
        return self.folder / DATABASE_FILE

    @property
    def database_url(self) -> str:
        """Empty for a file in DATA_DIR."""
        return self.environment.get("GATEWAY_DATABASE_URL", "")

    @property
    def queue_url(self) -> str:
        """Empty for a file in DATA_DIR."""
        return self.environment.get("GATEWAY_QUEUE_URL", "") or self.database_url

    def keeping(self) -> Self:
        """The same on one connection, until it is closed. For one thread."""
        return replace(self, kept=self._connect())

    def close(self) -> None:
        """Close the kept connection."""
        if self.kept is not None:
            self.kept.close()

    def last_commit(self) -> object:
        """On a kept connection: changes with every commit of another connection."""
        is_file = isinstance(self.kept, sqlite3.Connection)
        query = "PRAGMA data_version" if is_file else "SELECT pg_current_snapshot()"
        [(seen,)] = self.rows(query)
        return seen

    def rows(self, query: str, *values: object) -> list[Row]:
        """The rows of a query."""
        with self._connected() as connection:
            return connection.execute(_with_placeholders(connection, query), values).fetchall()

    def named_rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query without values, by column name."""
        with self._connected() as connection:
            found = connection.execute(_with_placeholders(connection, query))
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def count(self, table: str, condition: str = "true") -> int:
        """The number of rows of a table that match."""
        [(count,)] = self.rows(f"SELECT count(*) FROM {table} WHERE {condition}")  # noqa: S608 - our own words
        return int(count)

    def change(self, statement: str, *values: object) -> int:
        """Change rows or tables. Returns the number of rows."""
        with self._connected() as connection:
            return connection.execute(_with_placeholders(connection, statement), values).rowcount

    def change_for_each(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a change for each of the rows in one transaction."""
        with self._connected() as connection:
            connection.cursor().executemany(_with_placeholders(connection, statement), list(rows))

    def tables(self) -> list[str]:
        """The names of the service's own tables, sorted."""
        with self._connected() as connection:
            is_file = isinstance(connection, sqlite3.Connection)
            query = (
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                if is_file
                else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            )
            found = {str(name) for (name,) in connection.execute(query).fetchall()}
        return sorted(found.difference(QUEUE_TABLES))

    def everything(self) -> bytes:
        """The content of all rows as text, to search for forbidden content."""
        tables = [self.rows(f'SELECT * FROM "{table}"') for table in self.tables()]  # noqa: S608 - its own names
        files = [path.read_bytes() for path in self.folder.glob(f"{DATABASE_FILE}*")]
        return b"".join([repr(tables).encode(), *files])

    def queued(self) -> int:
        """The number of tasks in the queue, on any backend."""
        url = self.queue_url
        if url.startswith("redis:"):
            with closing(Redis.from_url(url)) as client:
                return int(client.dbsize())
        if url.startswith("postgresql:"):
            return self.count("huey_task")
        with closing(sqlite3.connect(self.folder / QUEUE_FILES[0])) as file:
            return int(file.execute("SELECT count(*) FROM task").fetchone()[0])

    def is_free(self) -> bool:
        """Whether no transaction is open, except that of the lock of a web process."""
        if self.database_url.startswith("postgresql:"):
            others = "datname = current_database() AND pid != pg_backend_pid()"
            busy = f"{others} AND xact_start IS NOT NULL AND pid NOT IN ({LOCKED_BY_WEB})"
            return self.count("pg_stat_activity", busy) == 0
        files = (self.database_path, self.folder / QUEUE_FILES[0])
        return _is_lock_free(self.folder / LOCK_FILE) and all(_is_unlocked(path) for path in files)

    def clear(self) -> None:
        """Clear the data on servers: every row except those of the migrations, and every key."""
        if self.database_url.startswith("postgresql:"):
            tables = [name for name in self.tables() if name != "schema_migration"]
            deletions = [f'DELETE FROM "{table}"' for table in tables]  # noqa: S608 - its own names
            # The role replica disables foreign keys, so the order of the deletions does not matter.
            self.change("; ".join(["SET LOCAL session_replication_role = replica", *deletions]))
        if self.queue_url.startswith("redis:"):
            self.lose_queue()

    @contextmanager
    def without(self, table: str) -> Iterator[None]:
        """Make this table inaccessible while the block runs."""
        self.change(f'ALTER TABLE "{table}" RENAME TO out_of_reach')
        try:
            yield
        finally:
            self.change(f'ALTER TABLE out_of_reach RENAME TO "{table}"')

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Block all writes to the database while the block runs."""
        with self._connected() as connection:
            if isinstance(connection, sqlite3.Connection):
                connection.execute("BEGIN IMMEDIATE")
            else:
                names = ", ".join(f'"{name}"' for name in self.tables())
                connection.execute(
                    _with_placeholders(connection, f"LOCK TABLE {names} IN EXCLUSIVE MODE")
                )
            yield

    def lose_queue(self) -> None:
        """Delete the queue with its tasks while processes run."""
        url = self.queue_url
        if url.startswith("redis:"):
            with closing(Redis.from_url(url)) as client:
                client.flushdb()
        elif url.startswith("postgresql:"):
            self.change(f"TRUNCATE {', '.join(QUEUE_TABLES)}")
        else:
            # Processes use the deleted files until they are restarted.
            for name in QUEUE_FILES:
                (self.folder / name).unlink(missing_ok=True)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection with one transaction."""
        connection = self.kept or self._connect()
        try:
            if isinstance(connection, sqlite3.Connection):
                with connection:
                    yield connection
            else:
                with connection.transaction():
                    connection.execute(USUAL)
                    yield connection
        finally:
            if connection is not self.kept:
                connection.close()

    def _connect(self) -> Connection:
        if self.database_url.startswith("postgresql:"):
            # A pooler does not support prepared statements.
            connection = psycopg.connect(
                self.database_url, prepare_threshold=None, client_encoding="UTF8"
            )
            # Settings of the role must not matter: see USUAL.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.read_only = False
            return connection
        assert self.database_path.exists()
        return sqlite3.connect(self.database_path, timeout=BUSY_SECONDS)


def _is_lock_free(path: Path) -> bool:
    # Without a change of its time, which names the history of events.
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _is_unlocked(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as file:
        try:
            file.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        file.execute("ROLLBACK")
        return True


def _with_placeholders(connection: Connection, statement: str) -> Any:
    """The query with its driver's placeholders."""
    return statement if isinstance(connection, sqlite3.Connection) else statement.replace("?", "%s")
