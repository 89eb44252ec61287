"""The window of the rate limit."""

import itertools
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.http.admission import RateLimiter, Window
from models.accounts.account import Account
from tests.gateway.moment import START, Now


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr("models.clock.now", lambda: round(now() * 1000))
    return now


@pytest.fixture
def limiter(now: Now) -> RateLimiter:
    assert now.at == START
    return RateLimiter({"starter": 3, "pro": 5, "anonymous": 2})


STARTER = Account(id="acc_1", name="A", plan="starter", created_at=0)
PRO = Account(id="acc_2", name="B", plan="pro", created_at=0)


ANONYMOUS = "anonymous"
ADDRESS = "192.0.2.1"


def _count(limiter: RateLimiter, account: Account | None, times: int = 1) -> Window:
    caller = (account.plan, account.id) if account else (ANONYMOUS, ADDRESS)
    return [limiter.count(*caller) for _ in range(times)][-1]


def test_the_limit_is_the_plans_and_counts_down_to_nothing(limiter: RateLimiter) -> None:
    seen = [_count(limiter, STARTER) for _ in range(5)]
    assert [window.limit for window in seen] == [3] * 5
    assert [window.remaining for window in seen] == [2, 1, 0, 0, 0]
    assert [window.exceeded for window in seen] == [False, False, False, True, True]
    assert _count(limiter, PRO).remaining == 4


def test_a_window_lasts_60_seconds_from_its_first_request(limiter: RateLimiter, now: Now) -> None:
    first = _count(limiter, STARTER)
    now.at += 59.9
    assert _count(limiter, STARTER, 3).exceeded
    now.at += 0.2
    fresh = _count(limiter, STARTER)
    assert (fresh.exceeded, fresh.remaining) == (False, 2)
    assert fresh.reset > first.reset


def test_the_reset_is_the_next_whole_second_and_stays_for_the_window(
    limiter: RateLimiter, now: Now
) -> None:
    resets = set()
    for _ in range(5):
        resets.add(_count(limiter, STARTER).reset)
        now.at += 10
    assert resets == {1_795_167_061}


@pytest.mark.parametrize(("elapsed", "seconds"), [(0, 61), (30, 31), (59.5, 2), (59.99, 1)])
def test_retry_after_is_long_enough_and_never_zero(
    limiter: RateLimiter, now: Now, elapsed: float, seconds: int
) -> None:
    _count(limiter, STARTER, 3)
    now.at += elapsed
    window = _count(limiter, STARTER)
    assert window.exceeded
    assert window.retry_after == seconds
    now.at += window.retry_after
    assert not _count(limiter, STARTER).exceeded


def test_a_request_exactly_at_the_reset_is_accepted(limiter: RateLimiter, now: Now) -> None:
    now.at = float(round(START))
    refused = _count(limiter, STARTER, 4)
    now.at += refused.retry_after
    assert (now.at, _count(limiter, STARTER).exceeded) == (refused.reset, False)


def test_a_window_lasts_at_most_60_seconds_after_the_clock_was_set_back(
    limiter: RateLimiter, now: Now
) -> None:
    assert _count(limiter, STARTER, 4).exceeded
    now.at -= 3600
    window = _count(limiter, STARTER)
    assert (window.exceeded, window.retry_after) == (False, 61)


def test_callers_are_counted_apart(limiter: RateLimiter) -> None:
    assert _count(limiter, STARTER, 4).exceeded
    assert _count(limiter, None, 3).exceeded
    assert not _count(limiter, PRO).exceeded
    assert not limiter.count(ANONYMOUS, "192.0.2.2").exceeded


def test_unmetered_requests_cost_nothing_and_show_the_window(limiter: RateLimiter) -> None:
    for _ in range(10):
        window = limiter.look_here(ANONYMOUS, ADDRESS)
        assert (window.limit, window.remaining, window.exceeded) == (2, 2, False)
        assert window.reset == 1_795_167_061
    _count(limiter, None, 3)
    assert not limiter.look_here(ANONYMOUS, ADDRESS).exceeded


@pytest.mark.usefixtures("now")
def test_no_request_is_lost_when_many_are_counted_at_once() -> None:
    limiter = RateLimiter({"pro": 2000})
    with ThreadPoolExecutor(8) as pool:
        windows = list(pool.map(lambda _: limiter.count("pro", "acc_1"), range(2000)))
    assert sorted(window.remaining for window in windows) == list(range(2000))


def test_no_request_is_lost_when_threads_are_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may wait between reading the clock and counting. The window begins with the first count."""
    ticks = itertools.count()

    def interrupted() -> int:
        tick = next(ticks)
        time.sleep(0 if tick % 2 else 0.005)
        return round(START) * 1000 + tick

    monkeypatch.setattr("models.clock.now", interrupted)
    limiter = RateLimiter({"pro": 2000})
    with ThreadPoolExecutor(8) as pool:
        windows = list(pool.map(lambda _: limiter.count("pro", "acc_1"), range(200)))
    assert sorted(window.remaining for window in windows) == list(range(1800, 2000))


def test_windows_that_are_over_hold_no_memory(limiter: RateLimiter, now: Now) -> None:
    def size_after(callers: range) -> int:
        for i in callers:
            limiter.count(ANONYMOUS, f"caller {i}")
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    first = size_after(range(5000))
    now.at += 61
    second = size_after(range(10))
    tracemalloc.stop()
    assert second < first / 2


def test_a_window_that_is_over_takes_no_other_with_it(limiter: RateLimiter, now: Now) -> None:
    _count(limiter, PRO)
    now.at += 30
    _count(limiter, STARTER, 2)
    now.at += 31
    _count(limiter, PRO)
    assert _count(limiter, STARTER).remaining == 0


@pytest.mark.usefixtures("now")
def test_a_response_that_took_longer_than_its_window_says_to_wait_a_second() -> None:
    assert Window(1, 0, round(START) - 5, exceeded=True).retry_after == 1


def test_the_headers_are_integers_by_the_specifications_names() -> None:
    assert Window(limit=100, remaining=99, reset=1_795_167_061, exceeded=False).headers == [
        (b"x-ratelimit-limit", b"100"),
        (b"x-ratelimit-remaining", b"99"),
        (b"x-ratelimit-reset", b"1795167061"),
    ]


def test_reading_the_use_of_an_account_counts_nothing(limiter: RateLimiter) -> None:
    assert limiter.look(STARTER)[:2] == (3, 3)
    window = _count(limiter, STARTER)
    for _ in range(5):
        assert limiter.look(STARTER) == (window.limit, window.remaining, window.reset)
