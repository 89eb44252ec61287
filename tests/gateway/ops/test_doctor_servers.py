"""``gateway doctor`` finds problems of PostgreSQL and Redis, and never prints a password."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from huey.storage import MemoryStorage
from redis import Redis

from contract_tests.servers import PostgresServer, RedisServer
from contract_tests.waiting import free_port, wait_for
from contract_tests.wrong_settings import WRONG, of_role, set_on
from gateway.cli.doctor import CHECKS, OK, PROBLEM, WARNING, Check, run_check
from gateway.settings import PREFIX, Settings, SettingsError
from gateway.storage import AwayError, check_database, check_queue, connect_state
from models import database
from models.database.session_settings import PRIVILEGED
from tasks import queue
from tests.conftest import Configure

PASSWORD = "quagga-password"
# The first matching line decides which users need a password.
WHO_IS_ASKED = "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
MIGRATED = "migrated"
FIRST_WITH_ICU = 150_000
MANUAL = "the page Operations of the documentation"

Look = Callable[[str], Check]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A server with a migrated database and some users."""
    with PostgresServer(durable=True) as server:
        (server.data / "pg_hba.conf").write_text(WHO_IS_ASKED)
        database.connect(server.database(MIGRATED))
        database.migrate()
        database.database.obj.close_all()
        _execute(
            server.url("postgres"),
            "SELECT pg_reload_conf()",
            f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}'",
            "CREATE ROLE stranger LOGIN",
            "CREATE DATABASE narrow TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'",
        )
        yield server


def _execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """A server with a password for one user."""
    with RedisServer() as server:
        with Redis.from_url(server.url(0)) as client:
            client.acl_setuser("locked", enabled=True, passwords=[f"+{PASSWORD}"], keys=["*"])
        yield server


def _check(name: str, settings: Settings) -> Check:
    return run_check(name, CHECKS[name][0], settings)


@pytest.fixture
def look_at_database(configure: Configure, request: pytest.FixtureRequest) -> Look:
    """What is found at a DATABASE_URL."""

    def look_at(url: str) -> Check:
        found = _check("database", configure(DATABASE_URL=url))
        request.addfinalizer(database.database.obj.close_all)
        return found

    return look_at


@pytest.fixture
def look_at_queue(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> Look:
    """What is found at a QUEUE_URL."""
    monkeypatch.setattr(queue.huey, "storage", MemoryStorage(queue.NAME))

    def look_at(url: str) -> Check:
        found = _check("queue", configure(DATABASE_URL="", QUEUE_URL=url))
        queue.huey.storage.close()
        return found

    return look_at


@pytest.fixture
def look_at_limits(configure: Configure) -> Look:
    """What is found at a RATE_LIMIT_URL."""
    return lambda url: _check("rate limits", configure(RATE_LIMIT_URL=url))


def _assert(finding: Check, state: str, *words: str) -> None:
    said = f"{finding.found} {finding.fix or ''}"
    assert finding.state == state, said
    for word in words:
        assert word in said
    assert PASSWORD not in said


def _as(user: str, url: str) -> str:
    """The URL with another user, or a user and a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{user}@{parts.hostname}:{parts.port}").geturl()


def test_a_migrated_database_is_well(postgres: PostgresServer, look_at_database: Look) -> None:
    found = look_at_database(postgres.url(MIGRATED))
    _assert(found, OK, "PostgreSQL 1", "migrated", "UTF8", "collation C", "MiB")


def test_a_database_that_was_never_migrated_stays_as_it_is(
    postgres: PostgresServer, look_at_database: Look
) -> None:
    found = look_at_database(postgres.url("postgres"))
    _assert(found, PROBLEM, "first 0001_schema", "Run: gateway migrate")
    with psycopg.connect(postgres.url("postgres")) as connection:
        tables = connection.execute("SELECT * FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchall() == []


@pytest.mark.parametrize(
    ("user", "name", "words"),
    [
        ("postgres", "nowhere", ("nowhere", "does not exist")),
        ("nobody", MIGRATED, ("nobody", "does not exist")),
        ("locked", MIGRATED, ("no password",)),
        (f"locked:not-{PASSWORD}", MIGRATED, ("password authentication failed",)),
        ("stranger", MIGRATED, ("permission denied",)),
    ],
)
def test_a_refused_login_is_reported_with_the_fix(
    postgres: PostgresServer,
    look_at_database: Look,
    look_at_queue: Look,
    user: str,
    name: str,
    words: tuple[str, ...],
) -> None:
    url = _as(user, postgres.url(name))
    _assert(look_at_database(url), PROBLEM, *words, "Check GATEWAY_DATABASE_URL", MANUAL)
    _assert(look_at_queue(url), PROBLEM, *words, "Check GATEWAY_QUEUE_URL", MANUAL)


@pytest.mark.parametrize("scheme", ["postgresql", "redis"])
def test_an_unreachable_server_is_reported_with_its_setting(
    look_at_database: Look, look_at_queue: Look, look_at_limits: Look, scheme: str
) -> None:
    url = f"{scheme}://user:{PASSWORD}@127.0.0.1:{free_port()}/0"
    last, setting = {
        "postgresql": (look_at_database, "DATABASE_URL"),
        "redis": (look_at_limits, "RATE_LIMIT_URL"),
    }[scheme]
    _assert(last(url), PROBLEM, "refused", f"Check GATEWAY_{setting}")
    _assert(look_at_queue(url), PROBLEM, "refused", "Check GATEWAY_QUEUE_URL")


def test_a_queue_in_the_database_is_fixed_together_with_it(configure: Configure) -> None:
    settings = configure(DATABASE_URL=f"postgresql://127.0.0.1:{free_port()}/gateway")
    _assert(_check("queue", settings), PROBLEM, "Check GATEWAY_DATABASE_URL")


def test_an_encoding_that_cannot_hold_every_text_is_a_problem(
    postgres: PostgresServer, look_at_database: Look
) -> None:
    _assert(look_at_database(postgres.url("narrow")), PROBLEM, "SQL_ASCII", "UTF8")


def test_a_collation_that_sorts_identifiers_otherwise_is_a_problem(
    postgres: PostgresServer, look_at_database: Look
) -> None:
    with psycopg.connect(postgres.url("postgres")) as connection:
        if connection.info.server_version < FIRST_WITH_ICU:
            pytest.skip("before PostgreSQL 15 a database had no locale of ICU")
    danish = "LOCALE_PROVIDER icu ICU_LOCALE 'da-DK' LOCALE 'C'"
    _execute(
        postgres.url("postgres"),
        f"CREATE DATABASE danish TEMPLATE template0 ENCODING 'UTF8' {danish}",
    )
    url = postgres.url("danish")
    database.connect(url)
    database.migrate()
    _assert(look_at_database(url), OK)
    # As after a restore from a database with another locale.
    _execute(url, "ALTER TABLE event ALTER id TYPE text")
    _assert(look_at_database(url), PROBLEM, "collation", "gateway migrate")
    database.migrate()
    _assert(look_at_database(url), OK)


def test_commits_that_a_crash_forgets_are_a_warning(
    postgres: PostgresServer, look_at_database: Look
) -> None:
    url = postgres.database("hasty", MIGRATED)
    _execute(url, "ALTER DATABASE hasty SET synchronous_commit = off")
    # The gateway overrules the database, but not the URL.
    _assert(look_at_database(url), OK)
    found = look_at_database(f"{url}?options=-c%20synchronous_commit%3Doff")
    _assert(found, WARNING, "synchronous_commit is off")


def test_of_wrong_settings_those_that_only_a_superuser_may_change_are_a_problem(
    postgres: PostgresServer, look_at_database: Look
) -> None:
    url = postgres.database("wrong", MIGRATED)
    _execute(url, "CREATE ROLE plain LOGIN", "GRANT SELECT ON schema_migration TO plain")
    with psycopg.connect(url, autocommit=True) as connection:
        set_on(connection, of_role("plain"), WRONG)
    found = look_at_database(_as("plain", url))
    _assert(found, PROBLEM, *(f"{name} is {WRONG[name]}" for name in PRIVILEGED))
    assert [name for name in WRONG if name in found.found and name not in PRIVILEGED] == []
    _execute(url, "ALTER ROLE plain SUPERUSER")
    _assert(look_at_database(_as("plain", url)), OK)


def test_a_server_that_is_read_only_or_not_durable_is_reported(
    look_at_database: Look,
) -> None:
    with PostgresServer() as server:
        url = server.database(MIGRATED)
        database.connect(url)
        database.migrate()
        _assert(look_at_database(url), WARNING, "fsync is off, full_page_writes is off")
        _execute(
            server.url("postgres"),
            "ALTER SYSTEM SET default_transaction_read_only = on",
            "SELECT pg_reload_conf()",
        )
        wait_for(lambda: look_at_database(url).state == PROBLEM, "a server that is read-only")
        _assert(look_at_database(url), PROBLEM, "default_transaction_read_only is on")


def test_more_connections_than_the_server_takes_are_a_warning(
    postgres: PostgresServer, look_at_database: Look, configure: Configure
) -> None:
    configure(DATABASE_CONNECTIONS="400")
    found = look_at_database(postgres.url(MIGRATED))
    _assert(found, WARNING, "allows 497 connections", "can use 807", "max_connections")


def test_a_replica_is_a_problem(look_at_database: Look) -> None:
    with PostgresServer() as server:
        server.stop()
        # It replicates nothing, and allows reads.
        (server.data / "standby.signal").touch()
        server.start()
        found = look_at_database(server.url("postgres"))
    _assert(found, PROBLEM, "replica", "Name the primary in GATEWAY_DATABASE_URL")


def test_tasks_go_into_either_queue(
    postgres: PostgresServer, redis: RedisServer, look_at_queue: Look
) -> None:
    for url in (postgres.url(MIGRATED), redis.url(1)):
        _assert(look_at_queue(url), OK, "Tasks go in; 0 wait.")


@pytest.mark.parametrize(
    ("user", "number", "word"),
    [
        (f"locked:not-{PASSWORD}", 0, "password"),
        (f"locked:{PASSWORD}", 0, "no permissions"),
        ("", 5000, "DB index is out of range"),
    ],
)
def test_a_login_refused_by_redis_is_reported_with_the_fix(
    redis: RedisServer,
    look_at_queue: Look,
    look_at_limits: Look,
    user: str,
    number: int,
    word: str,
) -> None:
    url = _as(user, redis.url(number))
    _assert(look_at_queue(url), PROBLEM, word, "GATEWAY_QUEUE_URL")
    _assert(look_at_limits(url), PROBLEM, word, "GATEWAY_RATE_LIMIT_URL")


def test_a_redis_for_rate_limits_is_healthy_unless_it_may_evict_keys(
    redis: RedisServer, look_at_limits: Look
) -> None:
    _assert(look_at_limits(redis.url(0)), OK, "counts for all web processes")
    with Redis.from_url(redis.url(0)) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        _assert(look_at_limits(redis.url(0)), OK)
        client.config_set("maxmemory", "1gb")
    found = look_at_limits(redis.url(0))
    _assert(found, WARNING, "allkeys-lru", "Set maxmemory-policy to noeviction")


def test_a_start_that_is_refused_says_why_in_one_line_without_the_password(
    configure: Configure, postgres: PostgresServer, redis: RedisServer
) -> None:
    wrong = f"locked:not-{PASSWORD}"
    for name, url, reach in (
        ("QUEUE", redis.url(0), check_queue),
        ("DATABASE", postgres.url(MIGRATED), check_database),
    ):
        connect_state(configure(**{f"{name}_URL": _as(wrong, url)}))
        with pytest.raises(SettingsError) as refused:
            reach()
        assert not isinstance(refused.value, AwayError)
        said = str(refused.value)
        assert said.startswith(f"{PREFIX}{name}_URL cannot be used: ")
        assert PASSWORD not in said
        assert "\n" not in said
