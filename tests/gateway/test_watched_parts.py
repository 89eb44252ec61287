"""The watchdogs of web and worker name the part that hangs. contract_tests has whole processes that hang."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from gateway import worker
from gateway.api import app
from gateway.ops.rounds import Rounds
from gateway.ops.watchdog import Watchdog
from gateway.settings import get_settings
from models.accounts.account import Account
from models.database import commit, write
from services.webhooks import make_client
from tasks import deliver, queue
from tasks.queue import huey
from tests.conftest import Configure
from tests.waiting import until
from webhooks.schedule import RetrySchedule

# The watchdog's time in seconds. Its thread does not run here, so a late healthy part does no harm.
SECONDS = "0.6"
Hang = Callable[[Callable[[], object], deliver.Engine], None]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Set when what hangs shall continue."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def engine(
    account: Account,  # noqa: ARG001 - the engine needs its database
    configure: Configure,
    release: threading.Event,
) -> Iterator[deliver.Engine]:
    configure(WATCHDOG_SECONDS=SECONDS)
    engine = deliver.Engine(make_client(), RetrySchedule((30.0,)), 10, 10)
    engine.start()
    yield engine
    release.set()
    engine.stop()


def _engine(wait: Callable[[], object], engine: deliver.Engine) -> None:
    engine.loop.call_soon_threadsafe(wait)


def _claims(wait: Callable[[], object], engine: deliver.Engine) -> None:
    engine._database.submit(wait)
    engine.wake()


def _writer(wait: Callable[[], object], _: deliver.Engine, *keys: str) -> None:
    def run() -> None:
        asyncio.run(commit(lambda: write(wait, *keys), *keys))

    threading.Thread(target=run, daemon=True).start()


def _check_named(watchdog: Watchdog, name: str, release: threading.Event) -> None:
    """While the part hangs, and no longer."""
    report = f"{name} has made no progress for "
    until(lambda: (watchdog._look() or "").startswith(report), f"a report about {name}")
    release.set()
    until(lambda: watchdog._look() is None, "progress")


@pytest.mark.parametrize(
    ("hang", "name"),
    [
        (_engine, "the delivery engine"),
        (_claims, "the queries of the delivery engine"),
        (_writer, "the writer of the database"),
    ],
)
def test_a_part_that_hangs_is_named(
    engine: deliver.Engine, release: threading.Event, hang: Hang, name: str
) -> None:
    rounds = Rounds(lambda: None, 60)
    watchdog = worker._watchdog(get_settings(), {"delivery engine": engine}, [rounds])
    hang(release.wait, engine)
    _check_named(watchdog, name, release)


def test_a_round_that_hangs_is_named(engine: deliver.Engine, release: threading.Event) -> None:
    def wait() -> None:
        release.wait()

    rounds = Rounds(wait, 60)
    watchdog = worker._watchdog(get_settings(), {"delivery engine": engine}, [rounds])
    rounds.start()
    _check_named(watchdog, rounds.name, release)
    rounds.stop()


def test_the_consumer_runs_waiting_tasks_at_once_and_continues_after_an_error(
    engine: deliver.Engine,  # noqa: ARG001 - it gives the queue a database
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    woken: list[str] = []

    def fail_once() -> None:
        monkeypatch.setattr(queue.callbacks, "worker", lambda: woken.append("callbacks"))
        raise OSError

    monkeypatch.setattr(queue.callbacks, "worker", fail_once)
    monkeypatch.setattr(queue.erasures, "worker", lambda: woken.append("erasures"))
    for bell in (queue.callbacks, queue.erasures, queue.callbacks):
        bell.put()
    consumer = Rounds(worker.run_task, 60)
    consumer.start()
    until(lambda: woken == ["erasures", "callbacks"], "the tasks after the one that failed")
    consumer.stop()


@pytest.mark.parametrize("blocking", [True, False])
def test_an_empty_queue_is_asked_again_at_once_only_if_it_waits_itself(
    engine: deliver.Engine,  # noqa: ARG001 - as above
    monkeypatch: pytest.MonkeyPatch,
    *,
    blocking: bool,
) -> None:
    monkeypatch.setattr(huey.storage, "blocking", blocking)
    assert worker.run_task() is blocking


@pytest.mark.parametrize(
    ("keys", "name"),
    [((), "the writer of the database"), (("a",), "the writer of sends")],
)
def test_a_writer_that_hangs_is_named_in_web(
    engine: deliver.Engine, release: threading.Event, keys: tuple[str, ...], name: str
) -> None:
    watchdog = app._watchdog(get_settings(), engine.loop)
    _writer(release.wait, engine, *keys)
    _check_named(watchdog, name, release)
