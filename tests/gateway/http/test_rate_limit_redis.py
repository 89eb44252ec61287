"""Rate limits shared by several processes, in a real Redis."""

import socket
import time
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from contract_tests import backends
from gateway.http import rate_limit
from gateway.http.rate_limit import WINDOW_SECONDS, RateLimiter
from models.account import Account

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
    monkeypatch.setattr(rate_limit, "ANSWER_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setattr(rate_limit, "PAUSE_SECONDS", 0.1)
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
    assert limiter.count_here(*ADDRESS).remaining == 0
