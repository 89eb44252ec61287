"""The whole service behind a PgBouncer with transaction pooling.

With TEST_BACKEND=pgbouncer, two workers, idempotency and a storm run behind one.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest

from contract_tests.harness import Receiver, wait_for
from contract_tests.parts import Parts, deployed
from contract_tests.servers import PgBouncer, PostgresServer
from tasks.queue import open_storage

# Fewer than the web process or a worker has connections. One is for the web process's lock.
POOL_SIZE = 4
SENDS = 20
KINDS = ["message.sent", "message.delivered", "message.read"]
LEFT = """
SELECT pg_backend_pid(),
       (SELECT count(*) FROM pg_prepared_statements),
       (SELECT count(*) FROM pg_listening_channels()),
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
       (SELECT count(*) FROM pg_settings WHERE source = 'session' AND name <> 'application_name')
"""


@pytest.fixture(scope="module")
def pooler() -> Iterator[PgBouncer]:
    with (
        PostgresServer() as postgres,
        PgBouncer(postgres, default_pool_size=str(POOL_SIZE)) as pooler,
    ):
        postgres.database("pooled")
        yield pooler


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, pooler: PgBouncer) -> Iterator[Parts]:
    """Database, queue and the web process's lock are behind the pooler."""
    urls = {"DATABASE_URL": pooler.url("pooled"), "QUEUE_URL": "", "RATE_LIMIT_URL": "memory"}
    settings = {f"GATEWAY_{name}": url for name, url in urls.items()}
    with deployed(tmp_path_factory.mktemp("pgbouncer"), **settings) as parts:
        parts.start_worker()
        parts.start_worker()
        yield parts


def test_a_process_frozen_while_it_enqueues_releases_its_connection(
    pooler: PgBouncer,
) -> None:
    storage = open_storage(pooler.url("pooled"))
    try:
        with storage.db(commit=True) as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == ("5s",)
    finally:
        storage.close()


def test_messages_are_sent_once_and_their_events_delivered(
    parts: Parts, receiver: Receiver
) -> None:
    customer = parts.customer()
    hook = {"url": receiver.url(), "events": KINDS}
    assert customer.request("POST", "/webhooks", json=hook).status_code == 201
    for number in range(SENDS):
        sent, again = (customer.send(f"1558000{number:04d}", key=f"key-{number}") for _ in range(2))
        assert (sent.status_code, again.status_code) == (200, 200)
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.json() == sent.json()
    wait_for(lambda: len(receiver.at()) == SENDS * len(KINDS), "all events")
    assert customer.request("GET", "/messages").json()["pagination"]["total"] == SENDS


def test_no_connection_to_the_server_keeps_session_state(parts: Parts, pooler: PgBouncer) -> None:
    assert parts.is_ready()
    # All but the lock's connection, at the same time.
    with ExitStack() as stack:
        rows = [
            stack.enter_context(psycopg.connect(pooler.url("pooled"))).execute(LEFT).fetchall()
            for _ in range(POOL_SIZE - 1)
        ]
    assert len({pid for [(pid, *_)] in rows}) == POOL_SIZE - 1
    assert [left for [(_, *left)] in rows] == [[0, 0, 0, 0]] * (POOL_SIZE - 1)
