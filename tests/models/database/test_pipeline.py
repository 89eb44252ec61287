"""Pipelined statements to PostgreSQL: results, errors, and the state of the connection afterwards."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from peewee import DataError, IntegrityError, InternalError, OperationalError, ProgrammingError

from contract_tests.servers import PostgresServer, end_sessions
from contract_tests.waiting import wait_for
from models.database.postgresql import PostgresEngine

INSERT = "INSERT INTO kept (id, value) VALUES (%s, %s)"
IDS = "SELECT id FROM kept ORDER BY id"
PATIENCE = 20


@pytest.fixture
def url(server: PostgresServer, request: pytest.FixtureRequest) -> str:
    address = server.database(f"p{abs(hash(request.node.name))}")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE kept (id bigint PRIMARY KEY, value text)")
    return address


@pytest.fixture
def other(url: str) -> Iterator[psycopg.Connection[Any]]:
    """The rows that other connections see."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


def ids(engine: PostgresEngine) -> list[int]:
    with engine.reading():
        return [row[0] for row in engine.put(IDS).rows]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", "100 % of $1 and '%s' and ☃"),
        ("text", None),
        ("int", 7),
        ("bigint", 2**40),
        ("boolean", True),
        ("boolean", False),
        ("bytea", b"\0\xff%s"),
        ("double precision", 0.5),
    ],
)
def test_a_value_comes_back_as_it_was_given(engine: PostgresEngine, kind: str, value: Any) -> None:
    with engine.writing(None):
        engine.put(f"CREATE TEMP TABLE one (value {kind}) ON COMMIT DROP")
        engine.put("INSERT INTO one VALUES (%s)", [value])
        assert engine.put("SELECT value FROM one").rows == [(value,)]


def test_a_percent_sign_is_written_twice(engine: PostgresEngine) -> None:
    with engine.reading():
        assert engine.put("SELECT 7 %% 4 + %s", [1]).rows == [(4,)]


def test_a_transaction_begins_with_its_first_query(
    engine: PostgresEngine, other: psycopg.Connection[Any]
) -> None:
    """And its commit goes out with the queued statements."""

    def seen() -> tuple[int, int]:
        locks = other.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        return locks.fetchall()[0][0], len(other.execute(IDS).fetchall())

    with engine.writing(["a key"]):
        engine.put(INSERT, [1, "a"])
        assert seen() == (0, 0)
        assert engine.put(IDS).rows == [(1,)]
        assert seen() == (2, 0)
        engine.put(INSERT, [2, "b"])
    assert seen() == (0, 2)


def test_a_result_can_be_read_later(engine: PostgresEngine) -> None:
    with engine.writing(["a key"]):
        first = engine.put(INSERT, [1, "a"])
        found = engine.put(IDS)
        update = engine.put("UPDATE kept SET value = 'c'")
        assert (first.rowcount, update.rowcount) == (1, 1)
        assert found.rows == [(1,)]
        assert engine.put(IDS).rows == [(1,)]


def test_outside_of_a_transaction_nothing_waits(
    engine: PostgresEngine, other: psycopg.Connection[Any]
) -> None:
    with engine.reading():
        engine.put(INSERT, [1, "a"])
        assert other.execute(IDS).fetchall() == [(1,)]


def test_peewees_own_queries_run_after_the_queued_statements(engine: PostgresEngine) -> None:
    with engine.writing(["a key"]):
        engine.put(INSERT, [1, "a"])
        assert engine.execute_sql(IDS).fetchall() == [(1,)]


def test_an_unread_failure_rolls_the_transaction_back_at_commit(
    engine: PostgresEngine,
) -> None:
    def twice() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, [1, "a"])
            engine.put(INSERT, [1, "again"])
            engine.put(INSERT, [2, "b"])

    with pytest.raises(IntegrityError, match="kept_pkey"):
        twice()
    assert ids(engine) == []


def test_a_failure_is_raised_by_the_next_read(engine: PostgresEngine) -> None:
    def fail() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, ["no number", "a"])
            with pytest.raises(DataError, match="no number"):
                engine.put(IDS).received()
            # The transaction is aborted.
            engine.put(IDS).received()

    with pytest.raises(InternalError, match="aborted"):
        fail()
    assert ids(engine) == []


def test_a_transaction_with_an_ignored_failure_does_not_commit(engine: PostgresEngine) -> None:
    def pass_over() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, [1, "a"])
            with suppress(ProgrammingError):
                engine.put("SELECT nonsense").received()

    with pytest.raises(InternalError, match="rolled back"):
        pass_over()
    assert ids(engine) == []


def test_a_statement_that_could_not_be_prepared_is_prepared_later(
    engine: PostgresEngine, other: psycopg.Connection[Any]
) -> None:
    with engine.reading():
        for _ in range(2):
            with pytest.raises(ProgrammingError, match="later"):
                engine.put("SELECT * FROM later")
        other.execute("CREATE TABLE later (id int)")
        assert engine.put("SELECT * FROM later").rows == []


def test_a_rolled_back_transaction_sends_no_queued_statements(engine: PostgresEngine) -> None:
    def give_up() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, ["no number", "a"])
            raise KeyError

    with pytest.raises(KeyError):
        give_up()
    assert ids(engine) == []


def test_a_savepoint_that_is_undone_leaves_the_transaction_as_it_was(
    engine: PostgresEngine,
) -> None:
    def fail() -> None:
        with engine.atomic():
            engine.put(INSERT, [2, "b"])
            raise KeyError

    with engine.writing(["a key"]):
        engine.put(INSERT, [1, "a"])
        with suppress(KeyError):
            fail()
        engine.put(INSERT, [3, "c"])
    assert ids(engine) == [1, 3]


def test_a_savepoint_ends_with_the_failures_in_it(engine: PostgresEngine) -> None:
    with engine.writing(["a key"]):
        engine.put(INSERT, [1, "a"])
        with pytest.raises(IntegrityError), engine.atomic():
            engine.put(INSERT, [1, "again"]).received()
        engine.put(INSERT, [2, "b"])
    assert ids(engine) == [1, 2]


def test_a_statement_that_is_asked_often_is_prepared_once(engine: PostgresEngine) -> None:
    with engine.reading():
        for number in range(10):
            engine.put(INSERT, [number, "a"])
        names = engine.put("SELECT name FROM pg_prepared_statements").rows
    assert len(names) == 2


def test_prepared_statements_survive_a_rolled_back_savepoint(engine: PostgresEngine) -> None:
    """It is not prepared again next to the statements that the server still has."""

    def undo() -> None:
        with engine.atomic():
            engine.put("SELECT count(*) FROM kept").received()
            raise KeyError

    with engine.writing(["a key"]):
        for number in range(20):
            engine.put(INSERT, [number, "a"])
            with suppress(KeyError):
                undo()
        names = engine.put("SELECT name FROM pg_prepared_statements").rows
    # BEGIN, the locks, the insert, the count, and this query.
    assert len(names) == 5
    assert ids(engine) == list(range(20))


def test_psycopg_prepares_nothing_itself(engine: PostgresEngine) -> None:
    """After a rollback it would deallocate the pipeline's prepared statements."""
    with engine.reading():
        for _ in range(10):
            engine.execute_sql(IDS)
        names = engine.put("SELECT name FROM pg_prepared_statements").rows
    assert len(names) == 1


def test_more_data_than_the_socket_buffers_hold_is_sent(engine: PostgresEngine) -> None:
    """Data flows in both directions at once: neither side may block until the other reads."""
    large = "x" * 1_000_000
    with engine.writing(["a key"]):
        echoes = [engine.put("SELECT %s::text", [large]) for _ in range(20)]
        engine.put(INSERT, [1, large])
    assert all(echo.rows == [(large,)] for echo in echoes)
    assert ids(engine) == [1]


def test_a_thread_that_waits_for_another_lets_it_run(url: str) -> None:
    engine = PostgresEngine(url, connections=2)
    inside = threading.Event()

    def hold() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, [1, "a"]).received()
            inside.set()
            with psycopg.connect(url, autocommit=True) as watching:
                waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
                wait_for(lambda: watching.execute(waiting).fetchall()[0][0], "a thread that waits")

    def follow() -> list[Any]:
        assert inside.wait(PATIENCE)
        with engine.writing(["a key"]):
            return engine.put(IDS).rows

    with ThreadPoolExecutor(2) as pool:
        held, followed = pool.submit(hold), pool.submit(follow)
        held.result(PATIENCE)
        assert followed.result(PATIENCE) == [(1,)]
    engine.close_all()


def _cut(engine: PostgresEngine, other: psycopg.Connection[Any]) -> None:
    end_sessions(other, [engine.connection().info.backend_pid])


@pytest.mark.parametrize("is_read", [True, False])
def test_a_lost_connection_fails_its_queued_statements(
    engine: PostgresEngine, other: psycopg.Connection[Any], *, is_read: bool
) -> None:
    """The next read reports it, at the latest the commit."""

    def interrupted() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, [1, "a"]).received()
            engine.put(INSERT, [2, "b"])
            _cut(engine, other)
            last = engine.put(INSERT, [3, "c"])
            if is_read:
                last.received()

    with pytest.raises(OperationalError, match="connection"):
        interrupted()
    assert ids(engine) == []


def test_a_server_that_is_killed_is_told_by_its_connection(
    engine: PostgresEngine, server: PostgresServer
) -> None:
    def interrupted() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, [1, "a"]).received()
            server.kill()
            engine.put(INSERT, [2, "b"]).received()

    try:
        with pytest.raises(OperationalError):
            interrupted()
    finally:
        server.start()
    assert ids(engine) == []


def test_an_interrupted_thread_leaves_no_results_for_the_next(
    engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    def interrupted() -> None:
        with engine.writing(["a key"]):
            engine.put(INSERT, [1, "a"])
            engine.put("SELECT pg_sleep(0.1), 'not for others'").received()

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    assert ids(engine) == []


@pytest.mark.parametrize("use", [lambda engine: engine.execute_sql(IDS), lambda e: e.put(IDS)])
def test_without_a_connection_no_statement_is_sent(
    engine: PostgresEngine, use: Callable[[Any], Any]
) -> None:
    with pytest.raises(Exception, match="outside of reading"):
        use(engine)
