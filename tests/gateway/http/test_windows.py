"""Windows of requests in the memory of a process."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.http.windows import Windows
from tests.gateway.moment import START, Now


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(time, "time", now)
    return now


def test_windows_that_are_over_are_forgotten(now: Now) -> None:
    windows = Windows(60)
    for i in range(1000):
        windows.count(f"192.0.2.{i}")
    now.at += 59
    windows.count("late")
    assert len(windows) == 1001
    now.at += 2
    windows.count("192.0.2.1")
    assert len(windows) == 2


def test_a_window_that_is_forgotten_is_over(now: Now) -> None:
    windows = Windows(60)
    now.at += 30
    windows.count("a")
    now.at += 31
    windows.count("b")
    assert windows.count("a") == (2, START + 90)


def test_a_look_opens_no_window(now: Now) -> None:
    windows = Windows(60)
    assert windows.look("a") == (0, now.at + 60)
    assert len(windows) == 0


@pytest.mark.usefixtures("now")
def test_no_request_is_lost_when_many_are_counted_at_once() -> None:
    windows = Windows(60)
    with ThreadPoolExecutor(8) as pool:
        counts = sorted(count for count, _ in pool.map(windows.count, ["a"] * 2000))
    assert counts == list(range(1, 2001))


def test_to_count_starts_no_thread() -> None:
    before = threading.active_count()
    windows = Windows(60)
    for _ in range(100):
        windows.count("a")
    assert threading.active_count() == before
