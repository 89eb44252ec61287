"""The storage backend of tests. TEST_BACKEND selects sqlite, postgresql, pgbouncer or redis.

``sqlite``: database and queue are files in DATA_DIR. ``postgresql``: both are in a separate database of a
real server. ``pgbouncer``: the same, through a PgBouncer with transaction pooling. ``redis``: the same,
with the queue and rate limits on a real Redis. The servers start with the first test that needs them and stop
with the process. With TEST_WRONG_SETTINGS=1 the role of PostgreSQL has the settings of wrong_settings.py.
"""

import atexit
import itertools
import os
from functools import cache
from pathlib import Path

import psycopg
import pytest

from contract_tests.servers import PgBouncer, PostgresServer, RedisServer
from contract_tests.wrong_settings import WRONG, of_role, set_on

SQLITE, POSTGRESQL, PGBOUNCER, REDIS = ALL = ("sqlite", "postgresql", "pgbouncer", "redis")
BACKEND = os.environ.get("TEST_BACKEND", SQLITE)
if BACKEND not in ALL:
    raise pytest.UsageError(f"TEST_BACKEND={BACKEND} is none of {', '.join(ALL)}")
IS_WRONGLY_SET = "TEST_WRONG_SETTINGS" in os.environ

_numbers = itertools.count(1)


@cache
def postgres() -> PostgresServer:
    """The PostgreSQL server of this test process."""
    # Statistics of tables with few rows would change the plans that tests check.
    server = PostgresServer(autovacuum="off").start()
    atexit.register(server.close)
    if IS_WRONGLY_SET:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            set_on(connection, of_role(), WRONG)
    return server


@cache
def pgbouncer() -> PgBouncer:
    """The PgBouncer in front of the PostgreSQL server."""
    server = PgBouncer(postgres()).start()
    atexit.register(server.close)
    return server


@cache
def redis() -> RedisServer:
    """The Redis server of this test process."""
    server = RedisServer().start()
    atexit.register(server.close)
    return server


def empty_state() -> dict[str, str]:
    """The settings of a service with its own empty database, queue and rate limits."""
    if BACKEND == SQLITE:
        return {}
    number = next(_numbers)
    name = f"gateway_{number}"
    url = postgres().database(name)
    settings = {"GATEWAY_DATABASE_URL": pgbouncer().url(name) if BACKEND == PGBOUNCER else url}
    if BACKEND == REDIS:
        url = redis().url(number)
        settings |= {"GATEWAY_QUEUE_URL": url, "GATEWAY_RATE_LIMIT_URL": url}
    return settings


@cache
def state_of(folder: Path) -> dict[str, str]:
    """The same for the service in a folder. A service that starts there again finds its data."""
    assert folder.is_absolute()
    return empty_state()


def keep_those_of_the_backend(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests marked as SQLite only if the backend is another one."""
    if BACKEND == SQLITE:
        return
    others = [item for item in items if item.get_closest_marker(SQLITE)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
