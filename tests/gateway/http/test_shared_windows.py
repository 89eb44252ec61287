"""Rate limits shared by several processes, in a real Redis."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from contract_tests import backends
from contract_tests.halting import halted
from gateway.http import shared_windows
from gateway.http.admission import RateLimiter
from gateway.http.shared_windows import WINDOW_SECONDS
from models.accounts.account import Account
from tests.waiting import until

ACCOUNT = Account(id="acc_1", name="A", plan="starter", created_at=0)
STARTER = ("starter", "acc_1")
ADDRESS = ("anonymous", "192.0.2.1")
PLANS = {"starter": 3, "anonymous": 2}
DATABASE = 999


@pytest.fixture(scope="module")
def url() -> str:
    return backends.redis().url(DATABASE)


@pytest.fixture
def client(url: str) -> Iterator[Redis]:
    with Redis.from_url(url) as client:
        client.flushdb()
        yield client


@pytest.fixture
def both(url: str, client: Redis) -> tuple[RateLimiter, RateLimiter]:
    """The limiters of two processes."""
    assert client.dbsize() == 0
    return RateLimiter(PLANS, url), RateLimiter(PLANS, url)


def test_both_count_the_same_requests(both: tuple[RateLimiter, RateLimiter], client: Redis) -> None:
    windows = [limiter.count(*STARTER) for limiter in (*both, *both)]
    assert [(w.remaining, w.exceeded) for w in windows] == [
        (2, False),
        (1, False),
        (0, False),
        (0, True),
    ]
    assert len({w.reset for w in windows}) == 1
    [key] = client.keys()
    assert 0 < client.ttl(key) <= WINDOW_SECONDS


def test_reading_the_limit_counts_nothing_and_opens_no_window(
    both: tuple[RateLimiter, RateLimiter], client: Redis
) -> None:
    one, other = both
    assert one.look(ACCOUNT)[:2] == (3, 3)
    assert client.keys() == []
    one.count(*STARTER)
    assert other.look(ACCOUNT)[:2] == (3, 2)


def test_the_reset_is_the_end_of_the_shared_window(
    both: tuple[RateLimiter, RateLimiter], client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = 1_795_167_000
    monkeypatch.setattr("models.clock.now", lambda: start * 1000)
    one, other = both
    assert one.look(ACCOUNT)[2] == start + 60
    one.count(*STARTER)
    [key] = client.keys()
    client.pexpire(key, 30_500)
    assert other.count(*STARTER).reset == start + 31


def test_counts_are_shared_again_once_redis_responds(
    url: str, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_windows, "ANSWER_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(shared_windows, "PAUSE_SECONDS", 0.05)
    one, other = RateLimiter(PLANS, url), RateLimiter(PLANS, url)
    assert client.dbsize() == 0
    redis = backends.redis().process
    assert redis is not None
    one.count(*STARTER)
    before = set(threading.enumerate())
    with halted(redis.pid):
        assert one.count(*ADDRESS).remaining == 1
        [looking] = set(threading.enumerate()) - before
    # It does not keep the process alive.
    assert looking.daemon
    until(lambda: not looking.is_alive(), "that Redis was found")
    assert [each.count(*STARTER).remaining for each in (one, other)] == [1, 0]


def test_redis_is_looked_for_with_pauses(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = threading.Event()

    def sleep(seconds: float) -> None:
        assert seconds == shared_windows.PAUSE_SECONDS
        paused.set()
        threading.Event().wait(seconds)

    monkeypatch.setattr(shared_windows, "ANSWER_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr("gateway.http.shared_windows.time.sleep", sleep)
    RateLimiter(PLANS, silent).count(*STARTER)
    assert paused.wait(5)


def test_without_a_thread_a_request_is_counted_and_redis_is_asked_again(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limiter = RateLimiter(PLANS, silent)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert limiter.count(*STARTER).remaining == PLANS["starter"] - 1
    assert limiter._shared is not None
    assert limiter._shared.is_there


def test_only_counts_in_memory_are_known_at_once(url: str) -> None:
    assert RateLimiter(PLANS).answers_at_once
    assert not RateLimiter(PLANS, url).answers_at_once


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a Redis that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_a_silent_redis_is_waited_for_once(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_windows, "ANSWER_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(shared_windows, "PAUSE_SECONDS", 0.1)
    limiter = RateLimiter(PLANS, silent)
    assert 0.4 < _seconds(lambda: limiter.count(*STARTER)) < 1
    for _ in range(5):
        # Longer than the pause between two checks of the server.
        time.sleep(0.15)
        assert _seconds(lambda: limiter.count(*STARTER)) < 0.1
    assert limiter.count(*STARTER).exceeded


def test_invalid_http_is_counted_without_redis(silent: str) -> None:
    limiter = RateLimiter(PLANS, silent)
    assert _seconds(lambda: limiter.count_here(*ADDRESS)) < 0.1
    assert [limiter.count_here(*ADDRESS).exceeded for _ in range(2)] == [False, True]
