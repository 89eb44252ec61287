"""The servers of the tests: which data survive, and that nothing is left behind."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from contract_tests.harness import ROOT, wait_for
from contract_tests.processes import is_alive
from contract_tests.server_process import HOST, Server
from contract_tests.servers import PostgresServer, RedisServer


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


def _listens(server: Server) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, server.port)) == 0


def _segment(server: PostgresServer) -> str:
    """The identifier of the server's shared memory."""
    return (server.data / "postmaster.pid").read_text().splitlines()[6].split()[1]


def _segments() -> set[str]:
    """The shared memory of all processes of this machine."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}


def test_commits_of_postgresql_survive_its_kill(postgres: PostgresServer) -> None:
    url = postgres.database("survives")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'yes' AS answer")
    with psycopg.connect(url):
        postgres.kill()
        assert not _listens(postgres)
    postgres.start()
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchall() == [("yes",)]


def test_a_database_is_utf8_with_byte_order_and_a_copy_equals_its_original(
    postgres: PostgresServer,
) -> None:
    with psycopg.connect(postgres.database("original")) as connection:
        connection.execute("CREATE TABLE copied AS SELECT 1 AS i")
    with psycopg.connect(postgres.database("copy", template="original")) as connection:
        rows = connection.execute("SHOW server_encoding").fetchall()
        rows += connection.execute("SHOW lc_collate").fetchall()
        rows += connection.execute("SELECT i FROM copied").fetchall()
    assert rows == [("UTF8",), ("C",), (1,)]


def test_a_server_that_ends_leaves_no_process_no_folder_and_no_shared_memory() -> None:
    with PostgresServer() as server:
        killed = _segment(server)
        assert killed in _segments()
        server.kill()
        assert killed not in _segments()
        stopped = _segment(server.start())
        assert stopped in _segments()
    assert not _listens(server)
    assert not server.folder.exists()
    assert stopped not in _segments()


@pytest.mark.parametrize("kind", ["PostgresServer", "RedisServer"])
def test_a_server_ends_with_a_test_run_that_is_killed(kind: str) -> None:
    code = (
        f"from contract_tests.servers import {kind}; server = {kind}().start();"
        "print(server.process.pid, server.folder, flush=True); input()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdin is not None
    assert run.stdout is not None
    with run.stdin, run.stdout:
        pid, folder = run.stdout.readline().split()
        run.kill()
        run.wait()
    wait_for(lambda: not Path(folder).exists(), "no folder")
    wait_for(lambda: not is_alive(int(pid)), "no server")


def test_redis_loses_its_data_when_killed_unless_it_is_durable() -> None:
    with RedisServer() as server:
        client = Redis.from_url(server.url(999))
        client.set("key", "value")
        server.kill()
        server.start()
        assert client.get("key") is None
    assert not server.folder.exists()
