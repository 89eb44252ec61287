"""PostgreSQL: locks between transactions, failures that a pool survives, and valid text."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from cryptography.fernet import Fernet
from peewee import InterfaceError

from contract_tests import backends
from contract_tests.waiting import wait_for
from models import database
from models.accounts import secret
from models.accounts.account import Account
from models.database import engine, reading, write, writing
from models.database.dialect import SERVER_TIME
from models.deliveries.delivery import IS_WAITING, Delivery
from models.messages.idempotency import IdempotencyKey
from tasks.queue import open_storage
from tests import factories
from tests.conftest import Configure

CONNECTIONS = 4
PATIENCE = 20
OWN_CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
"""
BOUNDED_COLUMNS = """
    SELECT count(*) FROM information_schema.columns
    WHERE table_schema = 'public' AND character_maximum_length IS NOT NULL
    AND table_name <> 'schema_migration'
"""


@pytest.fixture(scope="session")
def url() -> str:
    """A migrated database on a real server."""
    return backends.postgres().database("postgresql_tests")


@pytest.fixture(autouse=True)
def connected(url: str, configure: Configure) -> Iterator[None]:
    """The models on that database, with a small pool."""
    configure(DATABASE_URL=url)
    engine: Any = database.connect(url, CONNECTIONS)
    database.migrate()
    yield
    engine.close_all()


def query(sql: str) -> Any:
    """The single value of a query."""
    with reading():
        return database.database.execute_sql(sql).fetchone()[0]


def waiting() -> bool:
    """Whether some transaction waits for a lock."""
    return bool(query("SELECT count(*) FROM pg_locks WHERE NOT granted"))


def names() -> list[str]:
    return sorted(account.name for account in Account.all())


def meet(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """Two transactions with these keys, each of which waits until the other is inside."""
    both = threading.Barrier(2)

    def work() -> None:
        names()
        both.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write, work, *keys) for keys in (first, second)]:
            done.result()


def is_blocked(first: Callable[[Callable[[], Any]], Any], second: Callable[[], Any]) -> bool:
    """True if ``second`` ends only after the transaction of ``first``, which stays open."""
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        names()
        inside.set()
        assert leave.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(first, stay)
        assert inside.wait(PATIENCE)
        late = pool.submit(second)
        try:
            wait_for(lambda: waiting() or late.done(), "a transaction that waits or ends")
            return not late.done()
        finally:
            leave.set()
            held.result()
            late.result()


def test_an_index_serves_the_time_of_the_server() -> None:
    """Otherwise each query for waiting deliveries would read all of them."""
    waited = Delivery.select().where(IS_WAITING, Delivery.due_at <= SERVER_TIME)
    with reading():
        plan = database.database.execute_sql(f"EXPLAIN {waited.sql()[0]}").fetchall()
    condition = next(row[0] for row in plan if "Cond:" in row[0])
    assert "next_attempt_at <= " in condition
    assert "Index Cond" in condition


def test_transactions_without_a_common_key_run_concurrently() -> None:
    meet(("one",), ("two",))
    meet((), ())


def test_transactions_that_share_a_key_follow_one_another() -> None:
    assert is_blocked(lambda stay: write(stay, "a", "b"), lambda: write(str, "b", "c"))


def test_a_transaction_without_keys_waits_for_all_others() -> None:
    def alone() -> None:
        with writing():
            pass

    assert is_blocked(lambda stay: write(stay, "a"), alone)


def test_all_others_wait_for_a_transaction_without_keys() -> None:
    def alone(stay: Callable[[], Any]) -> None:
        with writing():
            stay()

    assert is_blocked(alone, lambda: write(str, "a"))


def test_a_transaction_that_needs_an_exclusive_lock_is_restarted() -> None:
    """The first run leaves nothing behind."""
    runs: list[int] = []

    def work() -> str:
        Account.create(id=f"acc_{len(runs)}", name=f"run {len(runs)}", plan="pro", created_at=1)
        runs.append(query("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock'"))
        with writing():
            return "done"

    assert write(work, "key") == "done"
    assert [bool(shared) for shared in runs] == [True, False]
    assert [name for name in names() if name.startswith("run")] == ["run 1"]


def test_an_inner_key_that_the_outer_ones_lack_restarts_the_transaction() -> None:
    runs: list[int] = []

    def work() -> None:
        runs.append(1)
        write(str, "mine", "another")

    write(work, "mine")
    assert len(runs) == 2


def test_an_expired_key_that_is_claimed_again_is_not_deleted() -> None:
    secret.use_keys(Fernet.generate_key().decode())
    number = factories.active_number(Account.open("Acme", "pro"))
    message = factories.outbound(number)
    with writing():
        IdempotencyKey.claim(number.account_id, "order", "first", message)
        IdempotencyKey.update(created_at=0).execute()

    def claim(stay: Callable[[], Any]) -> None:
        def work() -> None:
            IdempotencyKey.claim(number.account_id, "order", "second", message)
            stay()

        write(work, "a")

    assert is_blocked(claim, lambda: write(IdempotencyKey.forget_expired, "b"))
    found = IdempotencyKey.find(number.account_id, "order")
    assert found is not None
    assert found.fingerprint == "second"


def test_an_error_leaves_nothing_behind_and_gives_the_connection_back() -> None:
    def work() -> None:
        Account.create(id="acc_x", name="lost", plan="pro", created_at=1)
        raise LookupError

    for _ in range(2 * CONNECTIONS):
        with pytest.raises(LookupError):
            write(work, "key")
    assert "lost" not in names()


def test_more_threads_than_connections_share_them() -> None:
    with ThreadPoolExecutor(8 * CONNECTIONS) as pool:
        sleeps = [pool.submit(query, "SELECT pg_sleep(0.02)::text") for _ in range(80)]
        assert {sleep.result() for sleep in sleeps} == {""}
    assert query(OWN_CONNECTIONS) <= CONNECTIONS


def test_a_query_that_would_keep_its_connection_is_refused() -> None:
    with pytest.raises(InterfaceError):
        Account.select().count()


def test_a_restart_of_the_server_is_not_noticed_between_two_queries() -> None:
    Account.open("before", "pro")
    server = backends.postgres()
    server.kill()
    server.start()
    assert "before" in names()
    Account.open("after", "pro")
    assert "after" in names()


def test_nul_characters_are_removed_from_text() -> None:
    account = Account.open("a\0b", "pro")
    assert Account.get_by_id(account.id).name == "a\ufffdb"


def test_no_column_bounds_its_text() -> None:
    assert query(BOUNDED_COLUMNS) == 0


def test_two_processes_that_migrate_at_once_migrate_once() -> None:
    empty = backends.postgres().database("migrated_twice")
    program = (
        "import sys; from models import database;"
        "database.connect(sys.argv[1]); print(len(database.migrate()))"
    )
    command = [sys.executable, "-c", program, empty]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    applied = sorted(int(process.communicate()[0]) for process in both)
    files = list(engine.MIGRATIONS.glob("0*.py"))
    assert applied == [0, len(files) + len(engine.MERGED)]


def test_table_scans_are_avoided_unless_the_url_allows_them(url: str) -> None:
    assert (query("SHOW enable_seqscan"), query("SHOW jit")) == ("off", "off")
    engine: Any = database.connect(f"{url}?options=-c%20enable_seqscan%3Don", CONNECTIONS)
    assert (query("SHOW enable_seqscan"), query("SHOW jit")) == ("on", "off")
    engine.close_all()


def test_the_queue_waits_for_no_disk(url: str) -> None:
    """The sweep finds what it loses."""
    storage: Any = open_storage(url)
    (shown,) = storage.conn.execute("SHOW synchronous_commit").fetchone()
    assert shown == "off"
    storage.close()


@pytest.mark.parametrize(("keys", "runs"), [(500, 2), (501, 1)])
def test_a_transaction_with_very_many_keys_is_exclusive(keys: int, runs: int) -> None:
    """All sessions share the server's locks. A transaction that needs an exclusive lock restarts with it."""
    begun = []

    def work() -> None:
        begun.append(1)
        with database.writing():
            pass

    database.write(work, *map(str, range(keys)))
    assert len(begun) == runs
