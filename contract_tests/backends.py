"""Where services keep their state during tests. TEST_BACKEND chooses: sqlite, postgresql, pgbouncer or redis.

``sqlite``: database and queue are files in DATA_DIR. ``postgresql``: both in a database of their own on a
real server. ``pgbouncer``: the same, through a PgBouncer that works by transactions. ``redis``: the queue and
the rate limits are on a real Redis beside that. The servers start with the first test that needs them and end
with the process.
"""

import atexit
import itertools
import os
from functools import cache
from pathlib import Path

import pytest

from contract_tests.servers import PgBouncer, PostgresServer, RedisServer

SQLITE, POSTGRESQL, PGBOUNCER, REDIS = ALL = ("sqlite", "postgresql", "pgbouncer", "redis")
BACKEND = os.environ.get("TEST_BACKEND", SQLITE)
if BACKEND not in ALL:
    raise pytest.UsageError(f"TEST_BACKEND={BACKEND} is none of {', '.join(ALL)}")

_numbers = itertools.count(1)


@cache
def postgres() -> PostgresServer:
    """The PostgreSQL of this process and its tests."""
    server = PostgresServer().start()
    atexit.register(server.close)
    return server


@cache
def pgbouncer() -> PgBouncer:
    """The PgBouncer in front of it."""
    server = PgBouncer(postgres()).start()
    atexit.register(server.close)
    return server


@cache
def redis() -> RedisServer:
    """The Redis of this process and its tests."""
    server = RedisServer().start()
    atexit.register(server.close)
    return server


def empty_state() -> dict[str, str]:
    """The settings of a service whose database, queue and rate limits are empty and its own."""
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
    """The same for the service in a folder: whoever starts one there again finds its state."""
    assert folder.is_absolute()
    return empty_state()


def keep_those_of_the_backend(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is marked as true of SQLite alone, where the backend is another."""
    if BACKEND == SQLITE:
        return
    others = [item for item in items if item.get_closest_marker(SQLITE)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
