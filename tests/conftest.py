"""Fixtures: a migrated database for each test, a clock that stands still, settings and a receiver."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from datetime import timedelta
from functools import cache
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from huey.storage import MemoryStorage

from contract_tests import backends
from contract_tests.stored import DATABASE_FILE, Stored
from gateway.settings import PREFIX, Settings, get_settings
from models import database
from models.accounts import secret
from models.accounts.account import Account
from models.database.dialect import CLOCKS
from models.database.postgresql import PostgresEngine
from models.database.sqlite import SqliteEngine
from models.numbers.number import Number
from networks import registry
from tasks import queue
from tests import factories
from tests.mail_server import MailServer
from tests.receiver import Receiver

Configure = Callable[..., Settings]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that do not apply to the chosen backend."""
    backends.keep_those_of_the_backend(config, items)


# On PostgreSQL the server's clock decides; here the clock of the test does.
CLOCKS[PostgresEngine] = CLOCKS[SqliteEngine]


class Clock:
    """Stands still until a test moves it. Milliseconds since the epoch, like models.clock."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __call__(self) -> int:
        return self.at

    def advance(self, **duration: float) -> int:
        """Advance by a duration, with the arguments of ``timedelta``. Returns the new time."""
        self.at += round(timedelta(**duration) / timedelta(milliseconds=1))
        return self.at


class AtOnce(Executor):
    """Runs the work in ``submit``."""

    def submit(self, work: Any, /, *args: Any, **options: Any) -> Future[Any]:
        """See Executor."""
        done: Future[Any] = Future()
        done.set_result(work(*args, **options))
        return done


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The service's clock: 2026-11-20T09:30:00.000Z until the test moves it."""
    still = Clock(1_795_167_000_000)
    monkeypatch.setattr("models.clock.now", still)
    return still


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """Set settings by their name without the prefix. The others have their defaults."""
    monkeypatch.chdir(tmp_path)  # A developer's .env is not read.
    for name in Settings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)

    def set_settings(**values: str) -> Settings:
        for name, value in values.items():
            monkeypatch.setenv(PREFIX + name, value)
        get_settings.cache_clear()
        _forget_network()
        return get_settings()

    monkeypatch.setenv(PREFIX + "DATA_DIR", str(tmp_path / "var"))
    monkeypatch.setenv(PREFIX + "SECRET_KEY", "test-key-as-long-as-a-real-one-is")
    get_settings.cache_clear()
    yield set_settings
    _forget_network()
    get_settings.cache_clear()


def _forget_network() -> None:
    """Close the networks. The next call creates them from the current settings."""
    if registry._open.cache_info().currsize:
        registry.wait_for(registry.close_all())
        registry._open.cache_clear()


@cache
def shared_state() -> dict[str, str]:
    """One database for all tests of this process, because emptying it is faster than creating it."""
    return backends.empty_state()


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """A migrated database file to copy for each test: a copy takes 1 ms, the migrations 40 ms.

    None on PostgreSQL.
    """
    if backends.BACKEND != backends.SQLITE:
        return None
    path = tmp_path_factory.mktemp("migrated") / DATABASE_FILE
    connected = database.connect(f"sqlite://{path}")
    database.migrate()
    # Copy the write-ahead log into the file. TRUNCATE would wait 10 s for a result of the migrations.
    _, frames, copied = connected.execute_sql("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    assert frames == copied
    connected.close()
    return path


@pytest.fixture
def state(
    migrated: Path | None,
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Stored]:
    """A migrated database, an empty queue and a key for secrets, for this test only."""
    if "clock" in request.fixturenames:
        # Identifiers contain the time, so every row of the test is created with its clock.
        request.getfixturevalue("clock")
    urls = shared_state()
    settings = configure(**{name.removeprefix(PREFIX): url for name, url in urls.items()})
    settings.data_dir.mkdir(mode=0o700, parents=True)
    stored = Stored({f"{PREFIX}DATA_DIR": str(settings.data_dir), **urls})
    stored.clear()
    if migrated is not None:
        copyfile(migrated, stored.database_path)
    connected = database.connect(settings.database_url)
    if migrated is None:
        database.migrate()
    secret.use_keys(*settings.encryption_keys())
    monkeypatch.setattr(queue.huey, "storage", MemoryStorage(queue.NAME))
    # A wake-up is on the queue as soon as the test rings.
    for bell in (queue.deliveries, queue.callbacks, queue.redeliveries, queue.erasures):
        monkeypatch.setattr(bell, "thread", AtOnce())
    monkeypatch.setattr(queue, "sleep", lambda _seconds: None)
    # The connection for the test's own queries.
    connected.connect(reuse_if_open=True)
    yield stored
    connected.close()
    # A command that the test ran may have opened the queue; other tests take it away.
    if queue.huey.storage is not None:
        queue.huey.storage.close()


@pytest.fixture
def account(state: Stored) -> Account:
    """An account on the plan pro."""
    assert state.environment
    return Account.open("Acme", "pro")


@pytest.fixture
def number(account: Account) -> Number:
    """An active number of the account."""
    return factories.active_number(account)


@pytest.fixture(scope="session")
def mail_server() -> Iterator[MailServer]:
    """One mail server for all tests of this process, because its end takes time."""
    with MailServer() as server:
        yield server


@pytest.fixture
def mail(state: Stored, configure: Configure, mail_server: MailServer) -> MailServer:
    """The operator's mail server, without a mail."""
    assert state.environment
    mail_server.mails.clear()
    mail_server.refused.clear()
    configure(SMTP_URL=mail_server.url(), SMTP_FROM="gateway@example.com")
    return mail_server


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A customer's HTTP server on loopback."""
    server = Receiver()
    yield server
    server.close()
