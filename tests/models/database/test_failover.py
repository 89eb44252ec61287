"""A URL with two hosts: a process leaves a server that is no longer the primary, and uses the other one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from subprocess import PIPE
from types import NoneType

import psycopg
import pytest
from peewee import OperationalError
from psycopg.errors import ConnectionTimeout

from contract_tests.halting import halt_all, halted, resume
from contract_tests.servers import POSTGRES_USER, PgBouncer, PostgresServer
from contract_tests.waiting import wait_for
from gateway.ops.outages import is_outage
from models.database import database, hosts, session, write
from models.database.postgresql import PostgresEngine, UnsureError
from models.database.session import BOUNDS, Session
from tasks.queue import open_storage

INSERT = "INSERT INTO kept VALUES (1)"
READ_ONLY = "SET default_transaction_read_only = on"
# Since then PostgreSQL reports that it has become read-only.
REPORTING_VERSION = 14
# Less than the deadline of a response, and than the goal of a failover.
AT_MOST = 5
COUNT = "SELECT count(*) FROM kept"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """Two servers that do not replicate. Tests look at which of them has the rows."""
    with PostgresServer() as first, PostgresServer() as second:
        for server in (first, second):
            with psycopg.connect(server.database("two")) as connection:
                connection.execute("CREATE TABLE kept (value int)")
        yield first, second


@pytest.fixture
def url(pair: tuple[PostgresServer, PostgresServer]) -> Iterator[str]:
    """The URL of both. The first one is the primary."""
    first, second = pair
    for server in pair:
        with psycopg.connect(server.url("two")) as connection:
            connection.execute("SET transaction_read_only = off")
            connection.execute("TRUNCATE kept")
    _set_read_only(first, "off")
    _set_read_only(second, "on")
    address = f"postgresql://{POSTGRES_USER}@127.0.0.1:{first.port},127.0.0.1:{second.port}/two"
    yield address
    _forget(address)


def _forget(url: str) -> None:
    """Use the order of the URL again."""
    hosts._worked.pop(url, None)
    hosts._frozen.pop(url, None)
    hosts._looks.clear()


def _set_read_only(server: PostgresServer, value: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")


def _switch(pair: tuple[PostgresServer, PostgresServer]) -> None:
    first, second = pair
    _set_read_only(first, "on")
    _set_read_only(second, "off")


@contextmanager
def _frozen(server: PostgresServer) -> Iterator[None]:
    """The server and its processes are halted."""
    assert server.process is not None
    halted = halt_all(server.process.pid)
    try:
        yield
    finally:
        for process in reversed(halted):
            with suppress(ProcessLookupError):
                resume(process)


def _look_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(session, "STEP_SECONDS", 0.1)


def _version(server: PostgresServer) -> int:
    with psycopg.connect(server.url("postgres")) as connection:
        return connection.info.server_version // 10_000


def _rows(server: PostgresServer) -> int:
    with psycopg.connect(server.url("two")) as connection:
        return int(connection.execute(COUNT).fetchall()[0][0])


def _write(engine: PostgresEngine) -> None:
    with engine.writing(["a key"]):
        engine.put(INSERT)


def _port(engine: PostgresEngine) -> int:
    """The server from which a read comes."""
    with engine.reading():
        return int(engine.put("SHOW port").rows[0][0])


def test_the_primary_is_found_and_followed(
    engine: PostgresEngine, pair: tuple[PostgresServer, PostgresServer]
) -> None:
    _write(engine)
    assert [_rows(server) for server in pair] == [1, 0]
    _switch(pair)
    # Reads, too, leave the former primary as soon as it has reported its new setting. Version 13 does not.
    if _version(pair[0]) >= REPORTING_VERSION:
        wait_for(lambda: _port(engine) == pair[1].port, "a read from the primary")
    _write(engine)
    assert _port(engine) == pair[1].port
    assert [_rows(server) for server in pair] == [1, 1]


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_transaction_that_is_refused_is_repeated_on_the_primary(
    engine: PostgresEngine, pair: tuple[PostgresServer, PostgresServer], *, is_alone: bool
) -> None:
    _write(engine)
    with engine.reading():
        # The server does not report what is set here: the connection does not look stale.
        engine.execute_sql(READ_ONLY)
    _switch(pair)
    with engine.writing(["a key"]):
        engine.put(INSERT)
        if not is_alone:
            engine.put(COUNT).received()
    assert [_rows(server) for server in pair] == [1, 1]


def test_a_transaction_that_runs_meanwhile_is_an_outage_and_runs_again(
    engine: PostgresEngine,
    pair: tuple[PostgresServer, PostgresServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "obj", engine)
    runs = []

    def work() -> None:
        runs.append(engine.put("SHOW port").rows[0][0])
        if len(runs) == 1:
            # As on a former primary: what began before the switch only reads.
            engine.put("SET LOCAL transaction_read_only = on")
            _switch(pair)
        engine.put(INSERT)
        engine.put(COUNT).received()

    write(work, "a key")
    assert runs == [str(server.port) for server in pair]
    assert [_rows(server) for server in pair] == [0, 1]


def test_a_server_that_stays_read_only_is_an_outage(
    pair: tuple[PostgresServer, PostgresServer], url: str
) -> None:
    _switch(pair)
    alone = PostgresEngine(pair[0].url("two"), 1)
    with pytest.raises(OperationalError) as raised:
        _write(alone)
    assert is_outage(raised.value)
    _set_read_only(pair[0], "off")
    _write(alone)
    alone.close_all()
    _set_read_only(pair[0], "on")
    _set_read_only(pair[1], "on")
    neither = PostgresEngine(url, 1)
    with pytest.raises(OperationalError) as raised:
        _write(neither)
    assert is_outage(raised.value)
    neither.close_all()


def test_the_queue_follows_the_primary(
    pair: tuple[PostgresServer, PostgresServer], url: str
) -> None:
    storage = open_storage(url)
    storage.enqueue(b"before")
    storage.conn.execute(READ_ONLY)
    _switch(pair)
    storage.enqueue(b"after")
    assert storage.dequeue() == b"after"
    storage.close()


def test_a_frozen_host_costs_its_timeout_once(
    pair: tuple[PostgresServer, PostgresServer], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "HOST_TIMEOUT_SECONDS", 2)
    _forget(url)
    first, _ = pair
    _switch(pair)
    assert first.process is not None
    with halted(first.process.pid):
        took = []
        for _ in range(3):
            began = time.monotonic()
            Session.open(url, BOUNDS).close()
            took.append(time.monotonic() - began)
    assert took[0] > 1
    assert max(took[1:]) < 1


def test_a_host_that_freezes_is_left_before_the_deadline(
    pair: tuple[PostgresServer, PostgresServer], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_soon(monkeypatch)
    engine = PostgresEngine(url, connections=2)
    _write(engine)
    with _frozen(pair[0]):
        _set_read_only(pair[1], "off")
        began = time.monotonic()
        # Two threads share one test of the host. What they had begun may be committed.
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(_write, engine) for _ in range(2)]
            failed = [each.exception(AT_MOST) for each in both]
        _write(engine)
        assert time.monotonic() - began < AT_MOST
    # The commit was sent with the statements.
    assert {type(error) for error in failed} <= {UnsureError, NoneType}
    assert failed != [None, None]
    assert _rows(pair[1]) >= 1
    engine.close_all()


def test_a_frozen_server_is_left_when_its_pooler_has_left_it(
    pair: tuple[PostgresServer, PostgresServer], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pooler responds, but the statement is with the old server."""
    _look_soon(monkeypatch)
    old, new = pair
    assert url
    _set_read_only(new, "off")
    with PgBouncer(old) as pooler:
        engine = PostgresEngine(pooler.url("two"), connections=1)
        _write(engine)

        def write_meanwhile(stack: ExitStack) -> None:
            with engine.writing(["a key"]):
                engine.put(INSERT).received()
                stack.enter_context(_frozen(old))
                pooler.switch_to(new.port)

        with ExitStack() as stack:
            began = time.monotonic()
            with pytest.raises(UnsureError):
                write_meanwhile(stack)
            _write(engine)
            assert time.monotonic() - began < AT_MOST
        engine.close_all()
    assert _rows(new) == 1


def test_only_a_primary_that_replaced_a_known_one_is_another(
    pair: tuple[PostgresServer, PostgresServer], url: str
) -> None:
    assert url
    address = pair[0].url("two")
    assert not hosts.has_another_primary(address, None)
    assert not hosts.has_another_primary(address, hosts.primary_of(address))
    assert hosts.has_another_primary(address, "one that ended")


@pytest.fixture
def pooled(
    pair: tuple[PostgresServer, PostgresServer], monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The URL of a pooler in front of the first server. All looks share one that was made."""
    _look_soon(monkeypatch)
    monkeypatch.setattr(hosts, "SHARED_SECONDS", 60)
    with PgBouncer(pair[0]) as pooler:
        address = pooler.url("two")
        assert not hosts.has_another_primary(address, None)
        yield address


def _notice(server: PostgresServer, address: str) -> str | None:
    """The pooler at this address sends a look to this server."""
    with psycopg.connect(server.url("postgres")) as connection:
        hosts.note_primary(address, connection)
    return hosts.primary_of(address)


def test_a_transaction_behind_a_pooler_knows_the_primary_at_its_begin(
    pair: tuple[PostgresServer, PostgresServer], pooled: str
) -> None:
    """Another thread notices that it was replaced before this one waits."""
    engine = PostgresEngine(pooled, connections=1)

    def wait_in_a_transaction() -> None:
        with engine.appending():
            engine.put("SELECT 1").received()
            _notice(pair[0], pooled)
            engine.put("SELECT pg_sleep(5)").received()

    with engine.reading():
        engine.put("SELECT 1").received()
        _notice(pair[1], pooled)
        # It begins after the failover.
        assert engine.put("SELECT pg_sleep(0.5)").rows
    with pytest.raises(OperationalError, match="another server may respond"):
        wait_in_a_transaction()
    engine.close_all()


def test_a_session_of_the_queue_knows_the_primary_at_its_begin(
    pair: tuple[PostgresServer, PostgresServer], pooled: str
) -> None:
    with Session.open(pooled, BOUNDS) as session:
        session.execute(session.begin)
        _notice(pair[1], pooled)
        with pytest.raises(ConnectionTimeout, match="another server may respond"):
            session.execute("SELECT pg_sleep(5)")


def test_a_standby_that_a_pooler_lets_answer_is_no_other_primary(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    with PostgresServer() as standby:
        standby.stop()
        # It replicates nothing, and allows reads.
        (standby.data / "standby.signal").touch()
        standby.start()
        seen = [_notice(server, "a pooler") for server in (pair[0], standby)]
    assert seen[0] is not None
    assert seen[0] == seen[1]


def test_a_host_that_is_slow_is_kept(
    engine: PostgresEngine,
    pair: tuple[PostgresServer, PostgresServer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _look_soon(monkeypatch)
    with engine.writing(["a key"]):
        engine.put("SELECT pg_sleep(0.5)").received()
        engine.put(INSERT)
    assert _rows(pair[0]) == 1


def test_a_response_that_comes_during_the_look_counts(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host was slow to accept the connection of the look."""
    _look_soon(monkeypatch)

    def fail_late(*_: object) -> bool:
        time.sleep(1)
        return False

    monkeypatch.setattr(hosts, "responds", fail_late)
    with engine.writing(["a key"]):
        assert engine.put("SELECT pg_sleep(0.5)").rows
    with engine.reading():
        assert engine.execute_sql("SELECT pg_sleep(0.5)").fetchall()


def test_a_session_follows_another_that_left_its_host(
    engine: PostgresEngine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "STEP_SECONDS", 0.1)
    with engine.reading():
        place = engine.connection().info
        hosts.avoid(url, place.host, place.port)
        with pytest.raises(OperationalError, match="another server may respond"):
            engine.put("SELECT pg_sleep(1.4)").received()


def test_a_migration_waits_without_a_look(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_soon(monkeypatch)
    monkeypatch.setattr(hosts, "responds", lambda *_: False)
    with engine.migrating():
        assert engine.put("SELECT pg_sleep(0.5)").rows


def test_idle_connections_to_a_host_that_was_left_are_stale_until_it_works_again(url: str) -> None:
    with Session.open(url, BOUNDS) as idle:
        stale = [idle.is_stale]
        hosts.avoid(url, idle.info.host, idle.info.port)
        stale.append(idle.is_stale)
        # It is the primary, so it is found although it is tried last.
        with Session.open(url, BOUNDS) as other:
            assert other.info.port == idle.info.port
        stale.append(idle.is_stale)
    assert stale == [False, True, False]


# The only web process on a database, which looks at its lock more often than in production.
SOLE_WEB = """
import sys
from models.database import sole_web
from models.database import hosts, session

sole_web.LOOK_SECONDS, session.ANSWER_SECONDS, hosts.HOST_TIMEOUT_SECONDS = 0.1, 1, 2
sole_web.be_sole(sys.argv[1], 5)
sys.stdin.read()
"""
IS_LOCKED = "SELECT count(*) FROM pg_locks WHERE classid = 20977 AND objid = 3 AND granted"


@pytest.fixture
def sole_web(
    pair: tuple[PostgresServer, PostgresServer], url: str
) -> Iterator[subprocess.Popen[str]]:
    """A process with the lock on the first server."""
    with subprocess.Popen([sys.executable, "-c", SOLE_WEB, url], stdin=PIPE, text=True) as process:
        wait_for(lambda: _is_locked(pair[0]), "the lock")
        yield process
        process.kill()


def _is_locked(server: PostgresServer) -> bool:
    with psycopg.connect(server.url("two")) as connection:
        return bool(connection.execute(IS_LOCKED).fetchall()[0][0])


@pytest.mark.usefixtures("sole_web")
def test_the_lock_of_the_only_web_process_leaves_a_read_only_server(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    first, second = pair
    _set_read_only(first, "on")
    wait_for(lambda: not _is_locked(first), "a lock that is released")
    _set_read_only(second, "off")
    wait_for(lambda: _is_locked(second), "the lock on the new primary")
    _set_read_only(second, "on")
    _set_read_only(first, "off")
    wait_for(lambda: _is_locked(first), "the lock on the first server again")
    assert not _is_locked(second)


@pytest.mark.usefixtures("sole_web")
def test_the_lock_of_the_only_web_process_leaves_a_frozen_server(
    pair: tuple[PostgresServer, PostgresServer],
) -> None:
    first, second = pair
    with _frozen(first):
        _set_read_only(second, "off")
        wait_for(lambda: _is_locked(second), "the lock on the new primary")
