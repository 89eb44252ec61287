"""The window of the rate limit (decision 13 of the design)."""

import time

import pytest

from gateway.http.rate_limit import RateLimiter, Window
from models.account import Account
from tests.gateway.moment import START, Now


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(time, "time", now)
    return now


@pytest.fixture
def limiter(now: Now) -> RateLimiter:
    assert now.at == START
    return RateLimiter({"starter": 3, "pro": 5, "anonymous": 2})


STARTER = Account(id="acc_1", name="A", plan="starter", created_at=0)
PRO = Account(id="acc_2", name="B", plan="pro", created_at=0)


def _count(limiter: RateLimiter, account: Account | None, times: int = 1) -> Window:
    windows = [limiter.count(account, "192.0.2.1") for _ in range(times)]
    return windows[-1]


def test_the_limit_is_the_plans_and_counts_down_to_nothing(limiter: RateLimiter) -> None:
    seen = [limiter.count(STARTER, "192.0.2.1") for _ in range(5)]
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


def test_accounts_are_counted_apart_wherever_they_come_from(limiter: RateLimiter) -> None:
    assert [limiter.count(STARTER, f"192.0.2.{i}").exceeded for i in range(4)][-1]
    assert not limiter.count(PRO, "192.0.2.1").exceeded


def test_callers_without_a_key_are_counted_by_their_address(limiter: RateLimiter) -> None:
    assert [limiter.count(None, "192.0.2.1").exceeded for _ in range(3)] == [False, False, True]
    assert not limiter.count(None, "192.0.2.2").exceeded
    assert not limiter.count(STARTER, "192.0.2.1").exceeded


def test_what_is_not_metered_costs_nothing_and_still_says_where_one_stands(
    limiter: RateLimiter,
) -> None:
    for _ in range(10):
        window = limiter.count(None, "192.0.2.1", metered=False)
        assert (window.limit, window.remaining, window.exceeded) == (2, 2, False)
        assert window.reset == 1_795_167_061
    _count(limiter, None, 3)
    assert not limiter.count(None, "192.0.2.1", metered=False).exceeded


def test_the_headers_are_integers_by_the_specifications_names() -> None:
    assert Window(limit=100, remaining=99, reset=1_795_167_061, exceeded=False).headers == [
        (b"x-ratelimit-limit", b"100"),
        (b"x-ratelimit-remaining", b"99"),
        (b"x-ratelimit-reset", b"1795167061"),
    ]


def test_a_look_at_an_account_counts_nothing(limiter: RateLimiter) -> None:
    assert limiter.look(STARTER)[:2] == (3, 3)
    window = _count(limiter, STARTER)
    for _ in range(5):
        assert limiter.look(STARTER) == (window.limit, window.remaining, window.reset)
