"""Connections that PostgreSQL closes at any moment: the process recovers at once."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from peewee import OperationalError

from contract_tests.chaos.thief import Thief
from contract_tests.relay import Relay
from contract_tests.servers import PostgresServer, end_sessions
from contract_tests.waiting import WAIT_SECONDS
from gateway.ops.outages import is_outage
from models.database import (
    UnsureError,
    appending,
    commit,
    database,
    exclusively,
    reading_together,
    repeated,
    write,
    writing,
)
from models.database.postgresql import POOL_PATIENCE_SECONDS, LostError, PostgresEngine
from models.database.session import CONNECT_TIMEOUT_SECONDS, TIMEOUTS
from tests.programs import begun

IDLE_SECONDS = int(TIMEOUTS["idle_in_transaction_session_timeout"].removesuffix("s"))


@pytest.fixture(scope="module")
def url(kept: str) -> str:
    return kept


@pytest.fixture
def cut(url: str) -> Callable[[], None]:
    """Closes all connections to the database on the server."""

    def end() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            end_sessions(connection, [pid for (pid,) in found])

    return end


@pytest.fixture
def connected(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresEngine]:
    """The database of the models."""
    engine = PostgresEngine(url, 2)
    monkeypatch.setattr(database, "obj", engine)
    yield engine
    engine.close_all()


def _write(engine: PostgresEngine, value: int) -> None:
    engine.execute_sql("INSERT INTO kept VALUES (%s)", (value,))


def _kept(engine: PostgresEngine, value: int) -> int:
    with engine.reading():
        found = engine.execute_sql("SELECT count(*) FROM kept WHERE value = %s", (value,))
        return int(found.fetchone()[0])


def _write_with_a_key(engine: PostgresEngine) -> AbstractContextManager[None]:
    return engine.writing(["a key"])


def _works_at_once(engine: PostgresEngine, value: int) -> bool:
    began = time.monotonic()
    with engine.writing(None):
        assert engine.in_transaction()
        _write(engine, value)
    assert not engine.in_transaction()
    return _kept(engine, value) == 1 and time.monotonic() - began < POOL_PATIENCE_SECONDS / 3


def test_an_idle_connection_that_is_cut_is_replaced_silently(
    engine: PostgresEngine, cut: Callable[[], None]
) -> None:
    assert _kept(engine, 10) == 0
    cut()
    assert _works_at_once(engine, 10)


def test_what_is_replaced_is_not_kept(engine: PostgresEngine, cut: Callable[[], None]) -> None:
    def connection_in_use() -> weakref.ref[Any]:
        with engine.writing(None):
            _write(engine, 15)
            return weakref.ref(engine.connection())

    replaced = []
    sockets = _sockets()
    for _ in range(5):
        replaced.append(connection_in_use())
        cut()
    assert _works_at_once(engine, 16)
    gc.collect()
    assert [reference() for reference in replaced] == [None] * 5
    assert _sockets() <= sockets + 1


def _sockets() -> int:
    links = (entry.readlink() for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())
    return sum(link.name.startswith("socket:") for link in links)


def test_a_read_whose_connection_is_lost_is_repeated(
    engine: PostgresEngine, cut: Callable[[], None]
) -> None:
    with engine.reading():
        cut()
        assert engine.execute_sql("SELECT 1").fetchall() == [(1,)]
        cut()
        assert engine.put("SELECT 2").rows == [(2,)]
    assert _works_at_once(engine, 20)


INSERT = "INSERT INTO kept VALUES ({})"
WITH = "WITH it AS (INSERT INTO kept VALUES ({}) RETURNING value) SELECT * FROM it"


@pytest.mark.parametrize("sql", [INSERT, WITH])
@pytest.mark.parametrize("run", [PostgresEngine.execute_sql, PostgresEngine.put])
def test_a_write_outside_of_a_transaction_is_not_repeated(
    url: str, server: PostgresServer, sql: str, run: Callable[[PostgresEngine, str], Any]
) -> None:
    with Relay(server.port) as relay:
        behind = PostgresEngine(relay.in_front_of(url), 1)
        assert _kept(behind, 21) == 0
        cutting = threading.Thread(target=_cut_after, args=[relay])
        with behind.reading():
            relay.swallow()
            cutting.start()
            with pytest.raises(OperationalError):
                run(behind, sql.format(21))
        cutting.join(WAIT_SECONDS)
        assert _kept(behind, 21) == 0
        behind.close_all()


@pytest.mark.parametrize("run", [PostgresEngine.execute_sql, PostgresEngine.put])
def test_a_write_outside_of_a_transaction_survives_an_idle_connection_that_was_closed(
    url: str, server: PostgresServer, run: Callable[[PostgresEngine, str], Any]
) -> None:
    with Relay(server.port) as relay:
        behind = PostgresEngine(relay.in_front_of(url), 1)
        stored = _kept(behind, 18)
        relay.restore()
        with behind.reading():
            run(behind, INSERT.format(18))
        assert _kept(behind, 18) == stored + 1
        behind.close_all()


def test_a_transaction_that_has_not_begun_is_opened_on_a_new_connection(
    engine: PostgresEngine, cut: Callable[[], None]
) -> None:
    assert _kept(engine, 23) == 0
    with engine.writing(["a key"]):
        cut()
        engine.put("INSERT INTO kept VALUES (%s)", [23])
    with engine.appending():
        cut()
        engine.put("INSERT INTO kept VALUES (%s)", [23])
        assert engine.put("SELECT count(*) FROM kept WHERE value = 23").rows == [(2,)]
    with engine.appending():
        cut()
        # It is sent with the commit.
        engine.put("INSERT INTO kept VALUES (%s)", [23])
    assert _kept(engine, 23) == 3


def test_a_commit_that_the_server_may_have_received_is_not_repeated(
    url: str, server: PostgresServer
) -> None:
    with Relay(server.port) as relay:
        behind = PostgresEngine(relay.in_front_of(url), 1)
        assert _kept(behind, 24) == 0

        cutting = threading.Thread(target=_cut_after, args=[relay])

        def interrupted() -> None:
            with behind.writing(["a key"]):
                relay.swallow()
                behind.put("INSERT INTO kept VALUES (%s)", [24])
                cutting.start()

        with pytest.raises(UnsureError):
            interrupted()
        cutting.join(WAIT_SECONDS)
        assert _kept(behind, 24) == 0
        behind.close_all()


@pytest.mark.parametrize("begin", [PostgresEngine.appending, _write_with_a_key])
def test_a_transaction_of_one_exchange_survives_a_connection_that_was_closed(
    url: str,
    server: PostgresServer,
    begin: Callable[[PostgresEngine], AbstractContextManager[None]],
) -> None:
    with Relay(server.port) as relay:
        behind = PostgresEngine(relay.in_front_of(url), 1)
        stored = _kept(behind, 17)
        relay.restore()
        with begin(behind):
            behind.put("INSERT INTO kept VALUES (%s)", [17])
        assert _kept(behind, 17) == stored + 1
        behind.close_all()


def _cut_after(relay: Relay) -> None:
    relay.swallowed.wait(WAIT_SECONDS)
    relay.restore()


def test_work_whose_connection_is_lost_in_its_transaction_runs_again(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    runs = []

    def work() -> int:
        runs.append(connected.put("SELECT count(*) FROM kept WHERE value = 25").rows)
        if len(runs) == 1:
            cut()
        _write(connected, 25)
        return len(runs)

    assert write(work, "a key") == 2
    assert runs == [[(0,)], [(0,)]]
    assert _kept(connected, 25) == 1


class _Interrupted:
    """Work whose connection is lost during its first transaction, or during the second one."""

    def __init__(self, cut: Callable[[], None], lost: int = 1) -> None:
        self._cut, self._lost = cut, lost
        self.begun = 0

    def __call__(self, value: int, transactions: int = 1) -> None:
        for _ in range(transactions):
            self.insert(value)

    def insert(self, value: int) -> None:
        with writing():
            self.begun += 1
            if self.begun == self._lost:
                self._cut()
            database.obj.put("INSERT INTO kept VALUES (%s)", [value])
            assert database.obj.put("SELECT 1").rows


def test_work_for_an_event_loop_runs_again_if_it_committed_nothing(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    asyncio.run(commit(partial(work := _Interrupted(cut), 26, 2)))
    assert (work.begun, _kept(connected, 26)) == (3, 2)


def test_work_that_has_committed_a_transaction_does_not_run_again(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    with pytest.raises(LostError):
        asyncio.run(commit(partial(work := _Interrupted(cut, lost=2), 27, 2)))
    assert (work.begun, _kept(connected, 27)) == (2, 1)


def test_jobs_that_shared_a_lost_transaction_run_again(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    runs = Counter[int]()

    def insert(value: int) -> None:
        runs[value] += 1
        connected.put("INSERT INTO kept VALUES (%s)", [value])
        if runs[81] == 1:
            cut()

    assert _all_together(connected, insert, 80, 81, 82) == [None] * 3
    assert [_kept(connected, value) for value in (80, 81, 82)] == [1] * 3


def test_jobs_that_only_read_when_their_transaction_was_lost_run_again(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    runs = Counter[int]()

    def look(value: int) -> None:
        runs[value] += 1
        if runs[83] == 1:
            cut()
        assert connected.put("SELECT 1").rows == [(1,)]
        connected.put("INSERT INTO kept VALUES (%s)", [value])

    assert _all_together(connected, look, 83, 84) == [None] * 2
    assert [_kept(connected, value) for value in (83, 84)] == [1] * 2


@pytest.mark.parametrize(
    "error",
    [UnsureError("lost", is_silent=False), OperationalError("silent")],
)
def test_jobs_whose_commit_has_no_response_do_not_run_again(
    connected: PostgresEngine, monkeypatch: pytest.MonkeyPatch, error: OperationalError
) -> None:
    runs, finish = Counter[int](), connected.commit
    if not isinstance(error, UnsureError):
        error.__cause__ = psycopg.errors.ConnectionTimeout()

    def insert(value: int) -> None:
        runs[value] += 1
        connected.put("INSERT INTO kept VALUES (%s)", [value])

    def end() -> None:
        if runs and threading.current_thread() is not threading.main_thread():
            raise error
        finish()

    monkeypatch.setattr(connected, "commit", end)
    assert _all_together(connected, insert, 90, 91) == [error] * 2
    assert runs == {90: 1, 91: 1}


def _all_together(
    connected: PostgresEngine, work: Callable[[int], None], *values: int
) -> list[BaseException | None]:
    """Run these jobs in one transaction. Returns their errors."""

    async def run() -> list[BaseException | None]:
        with connected.writing(None):
            # The thread waits with this one until the others are there.
            waits = commit(lambda: write(lambda: None, "first"), "first")
            first = asyncio.ensure_future(waits)
            await asyncio.sleep(0.1)
            jobs = [
                asyncio.ensure_future(
                    commit(partial(write, partial(work, each), f"{each}"), f"{each}")
                )
                for each in values
            ]
            await asyncio.sleep(0.1)
        await first
        errors: list[BaseException | None] = await asyncio.gather(*jobs, return_exceptions=True)
        return errors

    return asyncio.run(run())


def test_an_append_for_an_event_loop_runs_again(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    runs = []

    def append() -> None:
        with appending():
            runs.append(connected.put("SELECT 1").rows)
            if len(runs) == 1:
                cut()
            connected.put("INSERT INTO kept VALUES (28)")
            connected.put("SELECT 1").received()

    asyncio.run(commit(append))
    assert (len(runs), _kept(connected, 28)) == (2, 1)


@pytest.mark.parametrize(("keys", "value"), [(None, 70), (["a key"], 71)])
def test_a_transaction_that_ends_before_its_commit_runs_again(
    connected: PostgresEngine, cut: Callable[[], None], keys: list[str] | None, value: int
) -> None:
    runs = []

    def work() -> None:
        with connected.writing(keys):
            runs.append(connected.put("SELECT 1").rows)
            # It is sent with the commit, and executed before it.
            connected.put("INSERT INTO kept VALUES (%s)", [value])
            if len(runs) == 1:
                cut()

    asyncio.run(commit(work))
    assert (len(runs), _kept(connected, value)) == (2, 1)


def test_reads_of_one_transaction_run_again_together(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    cuts = iter([True, False, False, False, True, False, False])
    runs = []

    def perhaps_cut() -> None:
        if next(cuts):
            cut()

    @repeated
    def read() -> tuple[int, int]:
        with reading_together():
            runs.append(connected.put("SELECT 1").rows)
            perhaps_cut()
            assert connected.execute_sql("SELECT 2").fetchall() == [(2,)]
            # The result comes with the commit.
            answer = connected.put("SELECT pg_backend_pid(), 4")
            perhaps_cut()
        [(process, four)] = answer.rows
        return process, four

    assert read()[1] == 4
    assert read()[1] == 4
    assert len(runs) == 4


def test_reads_run_again_if_the_response_to_their_commit_is_lost(
    url: str, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Thief(server.port) as thief:
        behind = PostgresEngine(thief.in_front_of(url), 1)
        monkeypatch.setattr(database, "obj", behind)

        @repeated
        def read() -> Any:
            with reading_together():
                answer = behind.put("SELECT 5")
            return answer.rows

        thief.steal_next()
        assert (read(), thief.stolen) == ([(5,)], 1)
        behind.close_all()


def test_a_function_that_is_a_transaction_runs_again_only_by_itself(
    connected: PostgresEngine, cut: Callable[[], None]
) -> None:
    exclusively(work := _Interrupted(cut))(29)
    assert (work.begun, _kept(connected, 29)) == (2, 1)

    def nested() -> None:
        with writing():
            exclusively(inner)(29)

    inner = _Interrupted(cut)
    with pytest.raises(LostError):
        nested()
    assert (inner.begun, _kept(connected, 29)) == (1, 1)


@pytest.mark.parametrize("keys", [None, ["a key"]])
def test_a_connection_lost_during_a_transaction_rolls_all_of_it_back(
    engine: PostgresEngine, cut: Callable[[], None], keys: list[str] | None
) -> None:
    def interrupted() -> None:
        with engine.writing(keys):
            _write(engine, 30)
            with engine.writing(keys):
                cut()
                _write(engine, 30)

    with pytest.raises(OperationalError):
        interrupted()
    assert _kept(engine, 30) == 0
    assert _works_at_once(engine, 31 if keys else 32)


def test_a_connection_lost_before_the_commit_rolls_all_of_it_back(
    engine: PostgresEngine, cut: Callable[[], None]
) -> None:
    def interrupted() -> None:
        with engine.writing(None):
            _write(engine, 40)
            cut()

    with pytest.raises(OperationalError):
        interrupted()
    assert _kept(engine, 40) == 0
    assert _works_at_once(engine, 41)


FREEZES = """
import sys, time
from models.database.postgresql import PostgresEngine

engine = PostgresEngine(sys.argv[1], 1)
with engine.writing(None):
    engine.execute_sql("INSERT INTO kept VALUES (60)")
    print("inside", flush=True)
    time.sleep(1)
"""


def test_a_client_that_freezes_in_a_transaction_blocks_no_others(
    engine: PostgresEngine, url: str
) -> None:
    with begun("inside", "-c", FREEZES, url, stderr=subprocess.PIPE) as frozen:
        frozen.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert _works_at_once(engine, 61)
        waited = time.monotonic() - began
        assert IDLE_SECONDS - 2 < waited < IDLE_SECONDS + 1
        frozen.send_signal(signal.SIGCONT)
        _, said = frozen.communicate(timeout=WAIT_SECONDS)
    assert "OperationalError" in said
    assert _kept(engine, 60) == 0


def test_a_wait_for_a_lock_and_a_statement_end(engine: PostgresEngine) -> None:
    with engine.reading():
        found = {name: engine.execute_sql(f"SHOW {name}").fetchone()[0] for name in TIMEOUTS}
        assert found == TIMEOUTS
    with engine.migrating():
        for name in TIMEOUTS:
            assert engine.execute_sql(f"SHOW {name}").fetchone()[0] == "0"
    with engine.reading():
        for name, value in TIMEOUTS.items():
            assert engine.execute_sql(f"SHOW {name}").fetchone()[0] == value


def test_an_outage_and_a_recovery_of_the_server_are_noticed_at_once(
    engine: PostgresEngine, server: PostgresServer
) -> None:
    assert _kept(engine, 50) == 0
    server.kill()
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(OperationalError):
            _kept(engine, 50)
    assert time.monotonic() - began < POOL_PATIENCE_SECONDS / 3
    server.start()
    assert _works_at_once(engine, 50)


def test_a_server_that_falls_silent_is_given_up_within_half_a_minute(
    engine: PostgresEngine,
) -> None:
    with engine.reading():
        connection = engine.connection()
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            names = ("TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
            found = [line.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names]
    patience_ms, idle, interval, count = found
    assert 0 < patience_ms <= 30_000
    assert idle + interval * count <= 30


def test_threads_wait_for_a_silent_server_in_parallel() -> None:
    threads = 6
    with socket.create_server(("127.0.0.1", 0)) as mute:
        silent = PostgresEngine(f"postgresql://127.0.0.1:{mute.getsockname()[1]}/x", threads)
        began = time.monotonic()
        with ThreadPoolExecutor(threads) as pool:
            asked = [pool.submit(_ask, silent) for _ in range(threads)]
        errors = [ask.exception() for ask in asked]
        assert all(isinstance(error, OperationalError) for error in errors)
        # The log recognizes an outage by the exception's cause.
        assert all(any(isinstance(e, psycopg.Error) for e in _causes(error)) for error in errors)
        assert time.monotonic() - began < 2 * CONNECT_TIMEOUT_SECONDS
        silent.close_all()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _ask(engine: PostgresEngine) -> None:
    with engine.reading():
        pass


def test_a_pool_that_stays_exhausted_counts_as_an_outage(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent server keeps all connections busy. Its log lines are limited like those of an outage."""
    monkeypatch.setattr("models.database.postgresql.POOL_PATIENCE_SECONDS", 0.01)
    engine = PostgresEngine(url, connections=1)
    with engine.reading(), ThreadPoolExecutor(1) as other:
        error = other.submit(_kept, engine, 1).exception(WAIT_SECONDS)
    assert isinstance(error, OperationalError)
    assert is_outage(error)
    engine.close_all()
