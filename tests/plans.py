"""Query plans of a piece of work, for tests.

The queries are recorded while they run, and then each is explained.
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from peewee import PostgresqlDatabase

from models.database import database, reading
from tests import sqlite_statements

# Tables that grow with the messages. A scan of the others costs little.
GROWING = {
    "message",
    "status_change",
    "event",
    "delivery",
    "attempt",
    "callback",
    "idempotency_key",
    "set_aside",
    "mention",
    "erasure",
    "contact",
    "search_block",
    "api_request",
    # With what an account has at the platform.
    "template",
    # With the days.
    "usage_total",
    "message_hour",
    "attempt_total",
}
# Indexes of pending work: a scan of one reads only what waits.
OF_OPEN_WORK = {
    "message_unsettled",
    "delivery_pending",
    "delivery_leased",
    "delivery_due",
    "set_aside_unindexed",
    # What other connections counted since the last fold.
    "message_hour_sharded",
}
_EXPLAINED = re.compile(r"\s*(SELECT|WITH|UPDATE|DELETE|INSERT)\b")
_NAMED = re.compile(r'"(\w+)" AS "(\w+)"')
# Plan steps that these settings discourage, so PostgreSQL uses them only without a suitable index. The
# service's own connections already avoid table scans.
_AVOIDED = ("enable_sort", "enable_bitmapscan", "enable_incremental_sort")


@dataclass(frozen=True)
class Query:
    """A recorded query."""

    sql: str
    values: Any

    def complaints(self) -> list[str]:
        """The steps of its plan whose cost grows with the tables."""
        if isinstance(database.obj, PostgresqlDatabase):
            return [step for step in self.steps() if _is_slow_on_postgresql(step)]
        names = dict(map(reversed, _NAMED.findall(self.sql)))
        return [step for step in self.steps() if _is_slow_on_sqlite(step, names)]

    def times_planned(self) -> int:
        """How often SQLite plans it again if it runs several times with the same values.

        It does so for a parameter that decides whether a partial index serves, and takes longer than to run.
        """
        return sqlite_statements.times_planned(self.sql, self.values)

    def steps(self) -> list[str]:
        """The steps of its plan, in the database's words."""
        is_postgresql = isinstance(database.obj, PostgresqlDatabase)
        return self._on_postgresql() if is_postgresql else self._on_sqlite()

    def _on_sqlite(self) -> list[str]:
        rows = database.execute_sql(f"EXPLAIN QUERY PLAN {self.sql}", self.values)
        return [row[3] for row in rows.fetchall()]

    def _on_postgresql(self) -> list[str]:
        with reading(), database.atomic():
            for way in _AVOIDED:
                database.execute_sql(f"SET LOCAL {way} = off")
            rows = database.execute_sql(f"EXPLAIN {self.sql}", self.values)
            return [row[0].lstrip(" ->") for row in rows.fetchall()]


def _is_slow_on_sqlite(step: str, names: dict[str, str]) -> bool:
    if step.startswith("USE TEMP B-TREE"):
        return True
    words = step.split()
    if words[0] != "SCAN" or set(words) & OF_OPEN_WORK:
        return False
    return names.get(words[1], words[1]) in GROWING


def _is_slow_on_postgresql(step: str) -> bool:
    scanned = re.match(r"(?:Parallel )?Seq Scan on (\w+)", step)
    is_sort = re.match(r"(?:Incremental )?Sort +\(", step) is not None
    return is_sort or (scanned is not None and scanned[1] in GROWING)


class _Recorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.queries: list[Query] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Peewee logs pairs of SQL and its parameters."""
        if not isinstance(record.msg, tuple):
            return
        query = Query(*record.msg)
        # Peewee's expression for an empty list: no row is read, even if the plan has a scan.
        if _EXPLAINED.match(query.sql) and "(0 = 1)" not in query.sql:
            self.queries.append(query)


@contextmanager
def _recorded() -> Iterator[list[Query]]:
    recorder, log = _Recorder(), logging.getLogger("peewee")
    level = log.level
    log.addHandler(recorder)
    log.setLevel(logging.DEBUG)
    try:
        yield recorder.queries
    finally:
        log.setLevel(level)
        log.removeHandler(recorder)


def queries_of(work: Callable[[], object]) -> list[Query]:
    """The queries that the work runs, each once."""
    with _recorded() as queries:
        work()
    return list({query.sql: query for query in queries}.values())
