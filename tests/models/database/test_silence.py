"""A server that accepts data and never responds: each wait ends, and counts as an outage."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from peewee import OperationalError
from psycopg.errors import ConnectionTimeout

from contract_tests.relay import Relay
from contract_tests.servers import PostgresServer
from gateway.ops.outages import is_outage
from models.database import hosts, session
from models.database.postgresql import LostError, PostgresEngine
from models.database.session import (
    ANSWER_SECONDS,
    BOUNDS,
    MARGIN_SECONDS,
    TIMEOUTS,
    Session,
    is_ready,
)
from tasks import queue
from tasks.queue import SERVER_ANSWER_SECONDS, SERVER_TIMEOUTS, open_storage

PATIENCE = 0.3
# A busy machine needs more time than the patience.
AT_MOST = 5 + PATIENCE


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "ANSWER_SECONDS", PATIENCE)
    # Otherwise the wait would be longer than that.
    monkeypatch.setitem(session.BOUNDS, "statement_timeout", "0")
    monkeypatch.setattr(queue, "SERVER_ANSWER_SECONDS", PATIENCE)


@pytest.fixture
def relay(server: PostgresServer) -> Iterator[Relay]:
    with Relay(server.port) as relay:
        yield relay


@pytest.fixture
def url(kept: str, relay: Relay) -> str:
    """The database behind the relay."""
    return relay.in_front_of(kept)


def _fails_in_time(work: Callable[[], Any]) -> BaseException:
    began = time.monotonic()
    with pytest.raises((OperationalError, psycopg.OperationalError)) as raised:
        work()
    assert time.monotonic() - began < AT_MOST
    assert is_outage(raised.value)
    # The server may have received a commit.
    assert not isinstance(raised.value, LostError)
    return raised.value


def _read(engine: PostgresEngine) -> list[Any]:
    with engine.reading():
        return engine.put("SELECT 1").rows


def _read_plainly(engine: PostgresEngine) -> list[Any]:
    with engine.reading():
        return list(engine.execute_sql("SELECT 1").fetchall())


def _write(engine: PostgresEngine) -> None:
    with engine.writing(["a key"]):
        engine.put("INSERT INTO kept VALUES (1)")


def _write_alone(engine: PostgresEngine) -> None:
    with engine.writing(None):
        engine.execute_sql("INSERT INTO kept VALUES (1)")


def _write_much(engine: PostgresEngine) -> None:
    """More than the buffers of the sockets hold."""
    with engine.writing(["a key"]):
        for _ in range(20):
            engine.put("SELECT length(%s)", ["x" * 1_000_000])


@pytest.mark.parametrize("work", [_read, _read_plainly, _write, _write_alone, _write_much])
def test_a_wait_for_a_silent_server_ends(
    engine: PostgresEngine, relay: Relay, work: Callable[[PostgresEngine], Any]
) -> None:
    work(engine)
    relay.hold()
    _fails_in_time(lambda: work(engine))
    relay.restore()
    work(engine)


def test_idle_connections_to_a_silent_server_are_closed(url: str, relay: Relay) -> None:
    two = PostgresEngine(url, connections=2)

    def idle() -> Any:
        with two.reading():
            return two.connection()

    def fail() -> None:
        with two.reading(), ThreadPoolExecutor(1) as pool:
            others.append(pool.submit(idle).result(AT_MOST))
            relay.hold()
            two.put("SELECT 1")

    others: list[Any] = []
    _fails_in_time(fail)
    assert [other.closed for other in others] == [True]
    two.close_all()


def test_a_new_connection_is_given_up_while_it_is_configured(url: str, relay: Relay) -> None:
    opened = Session.open(url, BOUNDS)
    relay.hold()
    _fails_in_time(lambda: opened.execute("SELECT 1"))
    assert opened.closed


def test_a_connection_through_a_pooler_is_given_up_too_when_another_server_responds(
    url: str, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pooler is known from earlier connections. This one would wait for the whole time of a response."""
    configure = Session._configure

    def hold_and_configure(opened: Session, settings: Mapping[str, str]) -> None:
        relay.hold()
        configure(opened, settings)

    monkeypatch.setattr(Session, "_configure", hold_and_configure)
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(session, "STEP_SECONDS", 0.1)
    monkeypatch.setitem(hosts._primaries, url, "the one that is silent")
    monkeypatch.setattr(hosts, "has_another_primary", lambda *_: True)
    with pytest.raises(ConnectionTimeout, match="another server may respond"):
        Session.open(url, {})


def test_a_migration_may_take_long_while_the_server_works(
    engine: PostgresEngine, relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session.PATIENCE, "connect_timeout", 2)
    # The second connection, which looks whether the server works, needs some of it.
    patience = 1.5
    monkeypatch.setattr(session, "ANSWER_SECONDS", patience)

    def long(seconds: float) -> None:
        with engine.migrating():
            assert engine.connection().answer_seconds == patience
            engine.execute_sql(f"SELECT pg_sleep({seconds})")
            engine.put(f"SELECT pg_sleep({seconds})").received()

    long(1.2 * patience)

    def silent() -> None:
        with engine.migrating():
            relay.hold()
            engine.execute_sql("SELECT 1")

    _fails_in_time(silent)


@pytest.mark.parametrize("call", ["enqueue", "dequeue"])
def test_the_queue_gives_a_silent_server_up(url: str, relay: Relay, call: str) -> None:
    storage = open_storage(url)
    work = {"enqueue": lambda: storage.enqueue(b"task"), "dequeue": storage.dequeue}[call]
    work()
    relay.hold()
    _fails_in_time(work)
    relay.restore()
    with suppress(psycopg.OperationalError):
        storage.enqueue(b"task")
    storage.close()


def test_a_statement_ends_before_the_client_gives_up() -> None:
    def seconds(value: str) -> int:
        return int(value.removesuffix("s"))

    assert seconds(TIMEOUTS["statement_timeout"]) + MARGIN_SECONDS <= ANSWER_SECONDS
    assert seconds(SERVER_TIMEOUTS["statement_timeout"]) < SERVER_ANSWER_SECONDS
    assert seconds(TIMEOUTS["lock_timeout"]) < seconds(TIMEOUTS["statement_timeout"])


@pytest.mark.parametrize(
    ("timeout", "seconds"), [("90s", 90), ("2min", 120), ("1500ms", 1.5), ("7200000", 7200)]
)
def test_a_longer_timeout_in_the_url_lengthens_the_wait(
    url: str, timeout: str, seconds: float
) -> None:
    longer = f"{url}?options=-c%20statement_timeout%3D{timeout}"
    with Session.open(longer, BOUNDS) as opened:
        assert opened.answer_seconds == seconds + MARGIN_SECONDS


def test_an_idle_connection_is_not_stale(url: str) -> None:
    with Session.open(url, BOUNDS) as idle:
        assert not idle.is_stale
    opened = Session.open(url, BOUNDS)
    opened.pgconn.send_query(b"SELECT 1")
    assert is_ready(opened.fileno(), AT_MOST)
    assert opened.is_stale
    opened.close()
