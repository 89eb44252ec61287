"""PostgreSQL: a setting of the server, the database or the role changes no result."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import quote

import psycopg
import pytest
from peewee import OperationalError
from psycopg import sql

from contract_tests.servers import PgBouncer, PostgresServer
from contract_tests.stored import Stored
from contract_tests.wrong_settings import WRONG, of_database, of_role, set_on
from models import database
from models.accounts import secret
from models.accounts.account import Account
from models.database import reading
from models.database.session import BOUNDS, Session
from models.database.session_settings import LENIENT, OUTSIDE, PINNED
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.feed import START, Wanted
from models.messages.callback import Callback
from models.messages.message import Message, MessageStatus
from models.messages.search import find
from models.messages.words import words_of
from services import sending
from tasks import ingest, queue
from tasks.queue import open_storage
from tests import factories
from tests.conftest import AtOnce, Configure
from tests.fake_network import accept_all
from tests.tasks.callbacks import messages, status_of, text

TEXT = "Zoë's \\n \"quoted\" C:\\temp\\ 50% 🦊 E'\\x41' NULL"
NAME = "others"
END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
# What others may choose as they like. The gateway itself has enable_seqscan off.
FREE = {
    "enable_seqscan",
    "enable_indexscan",
    "quote_all_identifiers",
    "default_text_search_config",
    "work_mem",
}
SHOWN = PINNED | LENIENT | {"client_encoding": "UTF8"}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer(autovacuum="off") as started:
        database.connect(started.database(NAME))
        database.migrate()
        database.database.obj.close_all()
        yield started


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[PgBouncer]:
    with PgBouncer(server, default_pool_size="2") as started:
        yield started


@pytest.fixture(params=["direct", "pooled"])
def servers(
    request: pytest.FixtureRequest, server: PostgresServer, pooler: PgBouncer
) -> tuple[PostgresServer, PgBouncer | PostgresServer]:
    """Where the settings are made, and what the gateway connects to."""
    return server, pooler if request.param == "pooled" else server


Servers = tuple[PostgresServer, PgBouncer | PostgresServer]


@contextmanager
def _set(server: PostgresServer, where: str, settings: dict[str, str]) -> Iterator[None]:
    """Set these on the database or the role for new sessions, as long as the block runs."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        target = of_role() if where == "ROLE" else of_database(NAME)
        set_on(connection, target, settings)
        try:
            yield
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(sql.SQL("ALTER {} RESET ALL").format(target))


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No queue, and a network that accepts all."""
    accept_all(monkeypatch)
    for bell in (queue.deliveries, queue.callbacks, queue.redeliveries, queue.erasures):
        monkeypatch.setattr(bell, "thread", AtOnce())


def _tell_the_story(url: str) -> None:
    """Send and receive a difficult text, read it back in every way, and enqueue a task."""
    account = Account.open("Acme", "pro")
    number = factories.active_number(account)
    factories.webhook(account)
    body = {"number_id": number.id, "to": "15551234567", "type": "text", "text": {"body": TEXT}}
    answers = [asyncio.run(sending.send(account.id, body, f"key \\ {n}")) for n in (1, 1)]
    assert [answer.status for answer in answers] == [200, 200]
    told = text("wamid.IN", text={"body": TEXT}), status_of("wamid.1", "delivered")
    raw = json.dumps({"entry": [messages(messages=[told[0]], statuses=[told[1]])]}).encode()
    Callback.store(raw)
    ingest.work_off()
    with reading():
        rows = {row.direction: row for row in Message.select()}
        assert [row.body for row in rows.values()] == [{"body": TEXT}] * 2
        assert rows["OUTBOUND"].status == MessageStatus.DELIVERED
        assert Delivery.select().count() == 3
        assert Event.select().where(Event.payload.contains("C:\\\\temp")).count() == 3
        assert {row.id for row in find(account.id, words_of("zoë temp"), 9, None).rows} == {
            row.id for row in rows.values()
        }
    events, _ = Wanted(account.id).read(START, 9)
    assert [json.loads(e.payload)["data"]["body"] for e in events] == [{"body": TEXT}] * 3
    claimed = factories.claim_due(9, Terms(10, 60_000))
    assert len(claimed) == 3
    storage = open_storage(url)
    storage.enqueue(b"\\x00'\xff")
    assert storage.dequeue() == b"\\x00'\xff"
    storage.close()


@pytest.fixture
def url(servers: Servers, configure: Configure) -> Iterator[str]:
    """Where the gateway finds its empty database. No session is left from the test before."""
    secret.use_keys(*configure().encryption_keys())
    Stored({"GATEWAY_DATABASE_URL": servers[0].url(NAME)}).clear()
    with psycopg.connect(servers[0].url("postgres")) as connection:
        connection.execute(END_SESSIONS, [NAME])
    yield servers[1].url(NAME)
    database.database.obj.close_all()


def _shown() -> dict[str, str]:
    """The settings in a transaction."""
    with reading():
        query = "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)"
        return dict(database.database.obj.execute_sql(query, [[*SHOWN, *WRONG]]).fetchall())


def _check(servers: Servers, url: str, where: str, settings: dict[str, str]) -> None:
    with _set(servers[0], where, settings):
        database.connect(url)
        shown = _shown()
        left = {} if servers[0] is servers[1] else OUTSIDE
        assert [n for n, v in SHOWN.items() if shown.get(n, v) != v and n not in left] == []
        assert [n for n, v in settings.items() if shown[n] == v and n not in {*left, *FREE}] == []
        _tell_the_story(url)


@pytest.mark.parametrize("setting", WRONG)
def test_a_setting_of_others_changes_nothing(servers: Servers, url: str, setting: str) -> None:
    where = "ROLE" if servers[0] is servers[1] else "DATABASE"
    _check(servers, url, where, {setting: WRONG[setting]})


@pytest.mark.parametrize("where", ["DATABASE", "ROLE"])
def test_all_settings_of_others_together_change_nothing(
    servers: Servers, url: str, where: str
) -> None:
    _check(servers, url, where, WRONG)


def test_options_in_the_url_take_precedence_over_lenient_settings(server: PostgresServer) -> None:
    chosen = {"synchronous_commit": "off", "lock_timeout": "7s", "search_path": "elsewhere"}
    options = " ".join(f"-c {name}={value}" for name, value in chosen.items())
    given = quote(f"{options} -c bytea_output=escape")
    with closing(Session.open(f"{server.url(NAME)}?options={given}", BOUNDS)) as session:
        shown = {n: session.execute(f"SHOW {n}").fetchone() for n in (*chosen, "bytea_output")}
    assert shown == {name: (value,) for name, value in chosen.items()} | {"bytea_output": ("hex",)}


def test_tables_in_another_schema_are_found(server: PostgresServer, configure: Configure) -> None:
    """The role named it at the migration, and names it no more."""
    secret.use_keys(*configure().encryption_keys())
    url = server.database("schemas")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA ours")
    with _set(server, "ROLE", {"search_path": "ours"}):
        database.connect(url)
        assert database.migrate()
    database.connect(url)
    assert database.migrate() == []
    _tell_the_story(url)
    database.database.obj.close_all()


def test_a_server_that_is_read_only_by_its_own_configuration_stays_so() -> None:
    with PostgresServer(default_transaction_read_only="on") as fenced:
        database.connect(fenced.url("postgres"))
        with pytest.raises(OperationalError, match="read-only"):
            database.migrate()
        database.database.obj.close_all()
