"""The SDK for TypeScript against a server that misbehaves: it ends in time, and does nothing twice."""

import json
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contract_tests.clients.hostile import (
    ELSEWHERE,
    EVENTS,
    MESSAGE,
    OK,
    REFUSED,
    SINCE,
    STREAMS,
    WAYS,
    Asked,
    Hostile,
)
from contract_tests.clients.toolbox import tool_environment
from contract_tests.harness import free_port

# Of each task. Those of hostile.mts are: 2.5 s for a call, 20 s for the events.
SEEDS = int(os.environ.get("SDK_SEEDS", "60"))
# A page is a call. A machine under load delays timers.
CALL_MS, SILENCE_MS, SLACK_MS = 2500, 200, 1500
DEADLINES = {"list": 2 * CALL_MS}
ERRORS = {"ApiError", "UnexpectedResponseError", "ConnectionError", "TimeoutError"}
# These may be repeated at any time. The others are POST or DELETE without a key.
REPEATABLE = ("get", "send", "list", "download")
ONCE = ("test", "block", "delete")
# Nothing changes if these are repeated soon.
LASTING = (
    *("throttled for long", "broken error", "not found"),
    *("stored failure", "stored throttling"),
)
VALUES: dict[str, Any] = {
    **dict.fromkeys(("get", "send", "test", "block"), MESSAGE),
    "delete": None,
    "download": "bytes",
    "list": ["1", "2", "3"],
    "follow": {"ids": [f"evt_{n}" for n in range(1, EVENTS + 1)], "saved": str(EVENTS - 1)},
}


@dataclass(frozen=True)
class Call:
    """The outcome of a call of the SDK, and the requests that the server got."""

    task: str
    told: dict[str, Any]
    asked: list[Asked]

    @property
    def is_ok(self) -> bool:
        """Whether it succeeded."""
        return "error" not in self.told and "other" not in self.told

    @property
    def ways(self) -> list[str]:
        """How the server treated the requests."""
        return [each.treated for each in self.asked]


class Caller:
    """Runs calls in Node.js against the server."""

    def __init__(self, server: Hostile, programs: Path) -> None:
        self.server, self._programs = server, programs

    def __call__(self, calls: list[tuple[str, str]], url: str = "") -> list[Call]:
        """The outcomes of calls, each a seed and a task. ``url`` is that of another server."""
        done = subprocess.run(
            ["node", "out/hostile.mjs"],
            cwd=self._programs,
            env=tool_environment(),
            input=json.dumps([url or self.server.url, calls]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(lines) == len(calls)
        return [Call(line["task"], line, self.server.asked[line["seed"]]) for line in lines]


@pytest.fixture(scope="module")
def caller(sdk_programs: Path) -> Iterator[Caller]:
    """Calls of the SDK, and a hostile server."""
    with Hostile() as server:
        yield Caller(server, sdk_programs)


def _check(call: Call) -> None:
    assert "other" not in call.told, call
    assert call.told["ms"] < DEADLINES.get(call.task, CALL_MS) + SLACK_MS, call
    if call.is_ok:
        assert call.told.get("value") == VALUES[call.task], call
        assert call.asked[-1].treated == OK, call
    else:
        assert call.told["error"]["name"] in ERRORS, call


def test_each_call_ends_in_time_with_success_or_a_typed_error(caller: Caller) -> None:
    tasks = (*REPEATABLE, *ONCE)
    calls = caller([(f"{n}{task}", task) for n in range(SEEDS) for task in tasks])
    for call in calls:
        _check(call)
    assert {call.task for call in calls if call.is_ok} == {*tasks}
    for call in calls:
        if call.task in ONCE:
            assert set(call.ways[:-1]) <= set(REFUSED), call
        if call.task == "send":
            assert len({each.key for each in call.asked}) == 1, call
            assert call.asked[0].key, call


def _seed(task: str, *ways: str, number: int = 0) -> tuple[str, str]:
    return f"{task}{number}:{'+'.join(ways).replace(' ', '-')}", task


@pytest.mark.parametrize("task", ONCE)
def test_a_request_that_may_have_been_done_is_not_repeated_without_a_key(
    caller: Caller, task: str
) -> None:
    ways = [way for way in WAYS if way not in (OK, *REFUSED)]
    calls = caller([_seed(task, way, OK) for way in ways])
    assert [(call.is_ok, len(call.asked)) for call in calls] == [(False, 1)] * len(ways)


@pytest.mark.parametrize("task", REPEATABLE)
def test_a_request_that_does_nothing_twice_is_repeated_until_it_succeeds(
    caller: Caller, task: str
) -> None:
    calls = caller([_seed(task, way, OK) for way in WAYS if way not in {OK, *LASTING}])
    assert [call.ways[:2] for call in calls if not call.is_ok] == []


@pytest.mark.parametrize("way", LASTING)
def test_an_error_that_lasts_ends_the_call_at_once(caller: Caller, way: str) -> None:
    calls = caller([_seed(task, way, OK) for task in REPEATABLE])
    assert [call.ways for call in calls] == [[way]] * len(calls)


@pytest.mark.parametrize("task", ONCE)
def test_a_request_that_was_refused_for_a_time_is_repeated(caller: Caller, task: str) -> None:
    calls = caller([_seed(task, way, way, OK) for way in REFUSED])
    assert all(call.is_ok for call in calls)


@pytest.mark.parametrize("task", ONCE)
def test_a_request_without_a_connection_is_repeated_until_its_time_is_over(
    caller: Caller, task: str
) -> None:
    [call] = caller([_seed(task, OK)], f"http://127.0.0.1:{free_port()}")
    assert call.told["error"]["name"] == "ConnectionError"
    # The first two pauses, at least.
    assert call.told["ms"] > 125 + 250


def test_no_redirect_is_followed(caller: Caller) -> None:
    calls = caller([_seed(task, "moved", "moved", OK, number=1) for task in (*REPEATABLE, *ONCE)])
    assert {len(call.asked) for call in calls if call.task in ONCE} == {1}
    assert ELSEWHERE not in caller.server.asked


def test_events_come_once_each_and_in_order_over_broken_streams(caller: Caller) -> None:
    ways = [*STREAMS * 4, *(way for way in WAYS if way not in LASTING)]
    chosen = (random.Random(n).choices(ways, k=6) for n in range(SEEDS))  # noqa: S311 - a seed
    calls = [_seed("follow", *each, OK, number=n) for n, each in enumerate(chosen)]
    for call in caller(calls):
        assert call.told.get("value") == VALUES["follow"], call


def test_a_silent_stream_is_opened_again_after_the_last_event(caller: Caller) -> None:
    [call] = caller([_seed("follow", "quiet", OK)])
    assert call.told.get("value") == VALUES["follow"], call
    assert [each.query for each in call.asked] == [{}, {"after": [str(EVENTS // 2)]}]
    # Without a limit for silence, the stream lasts until the server closes it.
    assert call.told["ms"] < CALL_MS + SLACK_MS, call


def test_a_stream_with_data_stays_open_for_longer_than_silence_may_last(caller: Caller) -> None:
    [call] = caller([_seed("follow", "slow")])
    assert call.told.get("value") == VALUES["follow"], call
    assert call.told["ms"] > SILENCE_MS
    assert len(call.asked) == 1


def test_a_refused_cursor_reads_the_last_events_again_and_leaves_out_known_ones(
    caller: Caller,
) -> None:
    [call] = caller([_seed("follow", "half", "lost", OK)])
    assert call.told.get("value") == VALUES["follow"], call
    assert [each.query for each in call.asked] == [
        {},
        {"after": [str(EVENTS // 2)]},
        {"since": [SINCE]},
    ]
