"""A busy process keeps its threads on one core, and gives itself back when it is idle."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contract_tests.waiting import wait_for
from gateway.ops.one_core import Look, choose

# Two threads that burn until a line comes, and then wait for the next one.
BURN = """
import sys, threading
from gateway.ops.one_core import OneCore
OneCore(0.1).start()
burning = threading.Event()
burning.set()
def burn():
    while burning.wait():
        sum(range(10_000))
for _ in range(2):
    threading.Thread(target=burn, daemon=True).start()
sys.stdin.readline()
burning.clear()
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def always_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a reason to move does."""
    monkeypatch.setattr("random.random", lambda: 0.0)


def test_an_idle_process_keeps_to_no_core() -> None:
    assert choose(None, 0.05, {0: 0.05, 1: 0.9}, {}) is None
    assert choose(1, 0.05, {0: 0.9, 1: 0.05}, {}) is None


def test_a_busy_process_takes_the_core_with_the_most_room() -> None:
    assert choose(None, 0.8, {0: 0.9, 1: 0.4, 2: 0.6}, {}) == 1


def test_it_stays_where_nobody_else_is_though_it_fills_the_core() -> None:
    assert choose(0, 1.0, {0: 1.0, 1: 0.1}, {}) == 0


def test_it_moves_away_from_others_only_to_a_core_that_is_much_better() -> None:
    assert choose(0, 0.5, {0: 1.0, 1: 0.2}, {}) == 1
    assert choose(0, 0.5, {0: 1.0, 1: 0.3}, {}) == 0


def test_of_two_on_one_core_one_moves_to_what_the_kernel_keeps_busy_otherwise() -> None:
    """A database, which the kernel put on the other core because this one is full, will make room."""
    assert choose(0, 0.5, {0: 1.0, 1: 0.8}, {0: 0.5}) == 1
    assert choose(0, 0.5, {0: 1.0, 1: 0.8}, {}) == 0


def test_it_stays_apart_from_another_that_is_bound_whatever_else_runs_beside_it() -> None:
    assert choose(0, 0.5, {0: 1.0, 1: 0.4}, {1: 0.4}) == 0


def test_a_process_that_nobody_may_look_at_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> set[int]:
        raise PermissionError

    monkeypatch.setattr("os.sched_getaffinity", refuse)
    look = Look.take(with_bound=True)
    assert look.bound == {}
    assert look.cores.keys()


def test_it_is_not_let_go_between_busy_and_idle() -> None:
    assert choose(0, 0.2, {0: 0.2, 1: 0.0}, {}) == 0
    assert choose(None, 0.2, {0: 0.2, 1: 0.0}, {}) is None


def test_of_two_that_share_a_core_one_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 0.9)
    assert choose(0, 0.5, {0: 1.0, 1: 0.0}, {}) == 0


def test_all_threads_keep_to_one_core_while_they_burn_and_are_free_afterwards() -> None:
    with _burning() as process:
        wait_for(lambda: len(_cores(process.pid)) == 1, "one core for all threads")
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        every = os.sched_getaffinity(0)
        wait_for(lambda: _cores(process.pid) == every, "all cores for all threads")


def test_two_busy_processes_keep_to_cores_of_their_own_beside_one_that_the_kernel_moves() -> None:
    free = [sys.executable, "-c", "while True: pass"]
    with _burning() as one, _burning() as two, subprocess.Popen(free) as third:
        try:
            wait_for(lambda: _are_apart(one.pid, two.pid), "a core for each")
        finally:
            third.kill()


@contextmanager
def _burning() -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _are_apart(one: int, two: int) -> bool:
    cores = _cores(one), _cores(two)
    return all(len(each) == 1 for each in cores) and cores[0].isdisjoint(cores[1])


def _cores(pid: int) -> set[int]:
    """Where any of its threads may run."""
    threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    return set().union(*(os.sched_getaffinity(thread) for thread in threads))
