"""Behind a pooler in transaction mode, no transaction leaves state on a connection."""

from collections.abc import Iterator

import psycopg
import pytest
from peewee import IntegrityError

from contract_tests.servers import PgBouncer, PostgresServer
from models.database.pipeline import PLANNING
from models.database.postgresql import PostgresEngine
from models.database.session import TIMEOUTS
from tasks.queue import ServerStorage

SETTINGS = PLANNING | TIMEOUTS
LEFT = """
SELECT (SELECT count(*) FROM pg_prepared_statements),
       (SELECT count(*) FROM pg_listening_channels()),
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),
       (SELECT count(*) FROM pg_settings WHERE source = 'session' AND name <> 'application_name')
"""


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> Iterator[str]:
    """An engine behind a pooler with a single server connection."""
    direct = server.database("pooled")
    with psycopg.connect(direct) as connection:
        connection.execute("CREATE TABLE kept (id int PRIMARY KEY)")
    with PgBouncer(server, default_pool_size="1") as pooler:
        yield pooler.url("pooled")


@pytest.fixture(autouse=True)
def nothing_is_left(url: str) -> Iterator[None]:
    yield
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute(LEFT).fetchall() == [(0, 0, 0, 0)]


def _shown(engine: PostgresEngine) -> dict[str, str]:
    return {name: engine.put(f"SHOW {name}").rows[0][0] for name in SETTINGS}


@pytest.mark.parametrize("keys", [None, ["a key"]])
def test_each_transaction_has_its_settings(engine: PostgresEngine, keys: list[str] | None) -> None:
    with engine.writing(keys):
        assert _shown(engine) == SETTINGS
    with engine.reading():
        assert _shown(engine) == SETTINGS


def test_a_migration_has_no_timeouts_and_a_lock(engine: PostgresEngine) -> None:
    with engine.migrating():
        assert _shown(engine) == SETTINGS | {"enable_seqscan": "on"} | dict.fromkeys(TIMEOUTS, "0")
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert engine.put(locks).rows == [(1,)]


def test_statements_that_go_out_together_are_one_transaction(engine: PostgresEngine) -> None:
    insert = "INSERT INTO kept VALUES (%s)"

    def twice() -> None:
        with engine.writing(["a key"]):
            engine.put(insert, [1])
            engine.put(insert, [1])

    with pytest.raises(IntegrityError, match="kept_pkey"):
        twice()
    with engine.writing(["a key"]):
        engine.put(insert, [2])
    with engine.reading():
        assert engine.put("SELECT id FROM kept").rows == [(2,)]


def test_the_queue_is_polled(url: str) -> None:
    storage = ServerStorage("polled", url)
    for _ in range(10):
        storage.enqueue(b"task")
        assert storage.dequeue() == b"task"
        assert storage.dequeue() is None
    assert not storage.blocking
    storage.close()
