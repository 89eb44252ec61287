"""Identifiers sort by their bytes, in a PostgreSQL of any locale."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from contract_tests.releases.build import build
from contract_tests.servers import PostgresServer
from models import clock, database
from models.accounts.account import Account
from models.clock import id_bound
from models.database import engine
from models.deliveries import event_history
from models.deliveries.event import Event
from models.deliveries.feed import START, Wanted
from tests import factories
from tests.conftest import Configure

FIRST_WITH_ICU = 150_000
# Estonian sorts Z after S and before T.
ESTONIAN = "LOCALE_PROVIDER icu ICU_LOCALE 'et-EE' LOCALE 'C'"
ALTERED = """
SELECT relname || '.' || attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0
    AND attcollation NOT IN (0, 'pg_catalog."default"'::regcollation)
"""
IDENTIFIERS = """
SELECT table_name || '.' || column_name FROM information_schema.columns
WHERE table_schema = 'public' AND data_type IN ('text', 'character varying')
    AND (column_name = 'id' OR column_name LIKE '%\\_id')
"""

Create = Callable[[str, str], str]


@pytest.fixture
def create(server: PostgresServer, configure: Configure) -> Iterator[Create]:
    """Create an empty database with a locale, and connect to it."""
    configure()

    def create_one(name: str, locale: str) -> str:
        with psycopg.connect(server.url("postgres"), autocommit=True) as session:
            if "icu" in locale and session.info.server_version < FIRST_WITH_ICU:
                pytest.skip("before PostgreSQL 15 a database had no locale of ICU")
            statement = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' {locale}"
            session.execute(statement.encode())
        url = server.url(name)
        database.connect(url)
        return url

    yield create_one
    database.database.close_all()


def _two_events(account: Account) -> tuple[int, list[str]]:
    """A time, and two events from after it, whose last digit of the time is T and Z."""
    digits = 32
    since = clock.now() // digits * digits
    ids = [id_bound("evt", since + at) + "0" * 16 for at in (digits - 6, digits - 1)]
    assert [each[13] for each in ids] == ["T", "Z"]
    for each in ids:
        event = factories.event(account)
        with database.writing():
            Event.update(id=each).where(Event.id == event.id).execute()
    return since, ids


def _read(wanted: Wanted) -> list[str]:
    """All events, one at a time."""
    read, place = wanted.read(START, 1)
    ids = []
    while read:
        ids += [event.id for event in read]
        read, place = wanted.read(place, 1)
    return ids


def _assert_all_are_read(account: Account) -> None:
    """Those since a time, and those of one transaction in the order of their identifiers."""
    since, ids = _two_events(account)
    assert _read(Wanted(account.id, since=since)) == ids
    with database.writing():
        Event.update(position=1).where(Event.account == account.id).execute()
    assert _read(Wanted(account.id)) == ids


def _execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as session:
        session.execute(statement.encode())


def _found(url: str, query: str) -> set[str]:
    with psycopg.connect(url) as session:
        return {name for (name,) in session.execute(query.encode())}


def test_a_new_database_returns_all_events_in_order(create: Create) -> None:
    url = create("fresh", ESTONIAN)
    database.migrate()
    event_history.settle()
    _assert_all_are_read(Account.open("Acme", "pro"))
    assert _found(url, ALTERED) == _found(url, IDENTIFIERS)


def test_a_database_of_an_earlier_release_is_corrected(create: Create) -> None:
    url = create("earlier", ESTONIAN)
    build(url)
    _execute(url, "ANALYZE account")
    assert "0020_people_in_accounts" in database.migrate()
    # An ALTER TABLE deletes the statistics of its columns.
    assert "id" in _found(url, "SELECT attname FROM pg_stats WHERE tablename = 'account'")
    event_history.settle()
    assert _found(url, ALTERED) == _found(url, IDENTIFIERS)
    _assert_all_are_read(Account.open("Acme", "pro"))


def test_running_processes_go_on(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their connections have plans of before."""
    create("running", ESTONIAN)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "sort_by_bytes", lambda _: None)
        database.migrate()
    event_history.settle()
    account = Account.open("Acme", "pro")
    with database.reading(), ThreadPoolExecutor() as thread:
        assert Wanted(account.id).read(START, 1)[0] == []
        with database.database.atomic():
            thread.submit(Account.by_id, account.id).result()
        assert thread.submit(database.migrate).result() == []
        _assert_all_are_read(account)
        assert thread.submit(Account.by_id, account.id).result() == account


def test_a_migration_in_the_midst_of_a_session_leaves_it_usable(
    create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    create("same", ESTONIAN)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "sort_by_bytes", lambda _: None)
        database.migrate()
    account = Account.open("Acme", "pro")
    assert Account.by_id(account.id) == account
    database.migrate()
    assert Account.by_id(account.id) == account


@pytest.mark.parametrize("locale", ["LOCALE 'C'", "LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'"])
def test_other_databases_stay_as_they_are(create: Create, locale: str) -> None:
    url = create(f"usual_{len(locale)}", locale)
    database.migrate()
    assert _found(url, ALTERED) == set()
    event_history.settle()
    _assert_all_are_read(Account.open("Acme", "pro"))
