"""Names of hosts are resolved with a deadline. For PostgreSQL the addresses are what psycopg would use."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import redis
from psycopg.errors import ConnectionTimeout

from contract_tests.servers import PostgresServer
from models.database import hosts, resolver, session
from models.database.redis_pool import open_pool
from models.database.session import Session

KNOWN = {"one": ["127.0.0.1"], "both": ["::1", "127.0.0.1"]}
BRIEF = {"connect_timeout": 0.05}


@pytest.fixture(autouse=True)
def name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Knows the names in KNOWN. There is no response for "silent" until the test ends."""
    over = threading.Event()

    def resolve(name: str, port: Any, *_: Any, **__: Any) -> list[Any]:
        if name == "silent":
            over.wait(10)
        if name not in KNOWN:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in KNOWN[name]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield
    over.set()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("host=one", ["one", "127.0.0.1"]),
        ("host=both port=6000", ["both,both", "::1,127.0.0.1", "6000,6000"]),
        ("host=one,both port=1,2", ["one,both,both", "127.0.0.1,::1,127.0.0.1", "1,2,2"]),
        ("host=both,one port=7", ["both,both,one", "::1,127.0.0.1,127.0.0.1", "7,7,7"]),
        ("host=silent,no,one,10.0.0.1 port=1,2,3,4", ["one,10.0.0.1", "127.0.0.1,", "3,4"]),
        ("host=/run/postgresql,one", ["/run/postgresql,one", ",127.0.0.1"]),
    ],
)
def test_each_name_is_replaced_by_its_addresses(url: str, expected: list[str]) -> None:
    assert list(resolver.resolve(url, BRIEF).values()) == expected


def test_hosts_of_the_environment_are_resolved_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "both,one")
    monkeypatch.setenv("PGPORT", "1,2")
    assert list(resolver.resolve("postgresql:///db", BRIEF).values()) == [
        "both,both,one",
        "::1,127.0.0.1,127.0.0.1",
        "1,1,2",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://127.0.0.1/db",
        "postgresql://[::1]:1/db",
        "postgresql:///db?host=/run/postgresql",
        "postgresql:///db",
        "postgresql://silent/db?hostaddr=127.0.0.1",
        "host=one,both port=1,2,3",
    ],
)
def test_without_a_name_nothing_is_resolved(url: str) -> None:
    assert resolver.resolve(url, BRIEF) == {}


@pytest.mark.parametrize("hosts", ["silent", "silent,unknown"])
def test_a_name_server_that_is_silent_counts_as_a_silent_server(hosts: str) -> None:
    with pytest.raises(ConnectionTimeout, match="silent"):
        resolver.resolve(f"postgresql://{hosts}/db", BRIEF)


def test_a_name_without_an_address_is_an_error() -> None:
    with pytest.raises(psycopg.OperationalError, match="unknown") as caught:
        resolver.resolve("postgresql://unknown/db", BRIEF)
    assert not isinstance(caught.value, ConnectionTimeout)


def test_a_thread_that_cannot_start_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(psycopg.OperationalError, match="new thread"):
        resolver.resolve("postgresql://one/db", BRIEF)


def test_sessions_connect_to_the_addresses_by_name(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, "localhost", ["127.0.0.1"])
    url = server.database("named").replace("127.0.0.1", "localhost")
    with Session.open(url, {}) as opened:
        assert (opened.info.host, opened.info.hostaddr) == ("localhost", "127.0.0.1")


def test_each_connection_has_a_deadline_for_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-up of psycopg would wait for the end of the test."""
    monkeypatch.setitem(session.PATIENCE, "connect_timeout", 0.05)
    monkeypatch.setattr(hosts, "TEST_SECONDS", 0.05)
    began = time.monotonic()
    with pytest.raises(ConnectionTimeout):
        Session.open("postgresql://silent/db", {})
    assert not hosts.has_another_primary("postgresql://silent/db", None)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("url", ["redis://{}", "rediss://{}", "redis+sentinel://{}/primary"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [("silent", "address of silent|No master"), ("unknown", "not known|No master")],
)
def test_each_connection_to_redis_has_one_too(url: str, name: str, reason: str) -> None:
    with redis.Redis.from_pool(open_pool(url.format(name), 0.05)) as client:
        began = time.monotonic()
        with pytest.raises((redis.ConnectionError, redis.TimeoutError), match=reason):
            client.ping()
    assert time.monotonic() - began < 5
