"""A web process that counts requests in its memory is the only one on its database."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import psycopg
import pytest

from contract_tests.backends import redis
from contract_tests.harness import START_SECONDS, free_port, wait_for
from contract_tests.parts import Parts, deployed
from contract_tests.servers import PgBouncer, PostgresServer

# No server checks it. It exists so that tests can look for it.
PASSWORD = "quagga-password"
TAKE = "SELECT pg_advisory_lock(20977, 3)"
LOCK = """
SELECT pid FROM pg_locks JOIN pg_database ON pg_locks.database = pg_database.oid
WHERE datname = current_database() AND classid = 20977 AND objid = 3 AND granted = %s
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL that these tests kill."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """A service with one web process."""
    blank = {"GATEWAY_DATABASE_URL": "", "GATEWAY_QUEUE_URL": "", "GATEWAY_RATE_LIMIT_URL": ""}
    with deployed(tmp_path_factory.mktemp("sqlite"), **blank) as parts:
        yield parts


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> str:
    """The URL of its database."""
    return postgres.database("sole")


@pytest.fixture(scope="module")
def on_postgresql(tmp_path_factory: pytest.TempPathFactory, url: str) -> Iterator[Parts]:
    """The same, with a password that is not checked."""
    settings = {"DATABASE_URL": url.replace("@", f":{PASSWORD}@"), "QUEUE_URL": ""}
    settings["RATE_LIMIT_URL"] = ""
    named = {f"GATEWAY_{name}": value for name, value in settings.items()}
    with deployed(tmp_path_factory.mktemp("postgresql"), **named) as parts:
        yield parts


@pytest.fixture(scope="module")
def behind_pgbouncer(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[Parts]:
    """The same, through a pooler in transaction mode."""
    postgres.database("pooled")
    with PgBouncer(postgres) as pooler:
        urls = {"DATABASE_URL": pooler.url("pooled"), "QUEUE_URL": "", "RATE_LIMIT_URL": ""}
        named = {f"GATEWAY_{name}": url for name, url in urls.items()}
        with deployed(tmp_path_factory.mktemp("pgbouncer"), **named) as parts:
            yield parts


@pytest.fixture(scope="module", params=["on_sqlite", "on_postgresql", "behind_pgbouncer"])
def parts(request: pytest.FixtureRequest) -> Parts:
    """Each of the three services."""
    found: Parts = request.getfixturevalue(request.param)
    return found


def _assert_refused(parts: Parts) -> None:
    """A second web process at another port."""
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "web", "--port", str(free_port())],
        env=parts.environment,
        cwd=parts.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: GATEWAY_RATE_LIMIT_URL: memory ")
    assert "redis://" in line
    assert PASSWORD not in line


def test_a_second_web_is_refused_in_one_line(parts: Parts) -> None:
    _assert_refused(parts)
    assert parts.is_ready()


def test_a_second_web_with_a_shared_rate_limit_is_allowed(on_postgresql: Parts) -> None:
    second = copy(on_postgresql)
    second.environment = on_postgresql.environment | {"GATEWAY_RATE_LIMIT_URL": redis().url(0)}
    second.port = free_port()
    second.start_web()
    wait_for(second.is_ready, "a second web process", START_SECONDS)
    assert second.process is not None
    second.process.terminate()
    second.process.wait(START_SECONDS)


def test_the_next_web_starts_after_a_kill(parts: Parts) -> None:
    assert parts.process is not None
    parts.process.kill()
    parts.start_web()
    wait_for(parts.is_ready, "the next web process", START_SECONDS)


def _holder(url: str, *, granted: bool = True) -> Any:
    """The server process that has the lock or waits for it, or None."""
    with psycopg.connect(url) as connection:
        return connection.execute(LOCK, [granted]).fetchone()


def test_a_restart_of_postgresql_admits_no_second_web(
    on_postgresql: Parts, url: str, postgres: PostgresServer
) -> None:
    postgres.kill()
    postgres.start()
    wait_for(lambda: _holder(url), "a web process that has its lock again")
    _assert_refused(on_postgresql)


def test_a_web_that_lost_its_lock_warns_until_it_has_it_again(
    on_postgresql: Parts, url: str
) -> None:
    [first] = _holder(url)
    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(other.execute, TAKE)
        wait_for(lambda: _holder(url, granted=False), "another process that waits for the lock")
        with psycopg.connect(url) as ending:
            ending.execute("SELECT pg_terminate_backend(%s)", [first])
        waiting.result(START_SECONDS)
        wait_for(lambda: "another web process counts" in on_postgresql.log(), "a warning")
    wait_for(lambda: _holder(url), "a web process that has its lock again")
    _assert_refused(on_postgresql)
    assert PASSWORD not in on_postgresql.log()
