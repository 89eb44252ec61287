"""Which database this process uses, and its migrations."""

import re
from pathlib import Path

from peewee import NotSupportedError
from playhouse.migrations import Runner

from models.clock import server_time
from models.database.identifiers import sort_by_bytes
from models.database.postgresql import PostgresEngine
from models.database.queries import Engine, database, engine, reading
from models.database.sqlite import SqliteEngine

MIGRATIONS, FIRST = Path(__file__).parents[1] / "migrations", "0001_schema"
# Migrations of 1.0.0, whose changes the first one has. 1.0.0 refuses a database without their names.
MERGED = (
    "0002_less_on_record",
    "0003_people",
    "0004_pricing",
    "0005_templates",
    "0006_quality",
    "0007_finding",
    "0008_events",
    "0009_users",
    "0010_search",
    "0011_overview",
    "0012_incidents",
    "0013_requests",
    "0014_erasures",
)
# The names of migrations that remove something the release before still uses. All others only add.
CONTRACTING = re.compile(r"\d+_contract_")


def connect(url: str, connections: int = 10) -> Engine:
    """Point the models at the database behind ``url``, ``sqlite:///...`` or ``postgresql://...``.

    ``connections`` bounds the pool of this process on PostgreSQL; on SQLite each thread has its own.
    """
    if database.obj is not None:
        database.obj.end()
    server_time.forget()
    connected = PostgresEngine(url, connections) if is_postgresql(url) else SqliteEngine(url)
    database.initialize(connected)
    return connected


def is_postgresql(url: str) -> bool:
    """Whether a URL names a PostgreSQL database."""
    return url.startswith("postgresql://")


def empty_log() -> bool:
    """Remove copies of deleted rows from SQLite's write-ahead log. Returns whether the log is empty.

    PostgreSQL manages its own log.
    """
    connected = engine()
    return connected.empty_log() if isinstance(connected, SqliteEngine) else True


def migrate() -> list[str]:
    """Apply all pending migrations, one process at a time. Returns their names."""
    with engine().migrating():
        applied = _apply(Runner(database.obj, str(MIGRATIONS)))
        sort_by_bytes(database.obj)
    return applied


def _apply(runner: Runner) -> list[str]:
    if applied := runner.applied():
        if not set(applied).issuperset(MERGED):
            raise NotSupportedError(
                "it is older than 1.0.0. First run gateway migrate of the release 1.0.0"
            )
        return list(runner.up())
    # The first one creates the present schema, on which the others would fail.
    with database.atomic():
        runner.up(FIRST)
        runner.History.insert_many([{"name": name} for name in MERGED]).execute()
        runner.fake()
        return sorted(runner.applied())


def pending_migrations() -> list[str]:
    """The names of the migrations that this database still needs."""
    with reading():
        return [m.name for m in Runner(database.obj, str(MIGRATIONS)).status() if not m.applied]


def incompatible_migrations() -> list[str]:
    """The names of applied migrations of a later release after which this one cannot run.

    Others of a later release are compatible: the two releases may run side by side.
    """
    with reading():
        known = Runner(database.obj, str(MIGRATIONS)).status()
    return [m.name for m in known if m.path is None and CONTRACTING.match(m.name)]
