"""Calls of the API's operations from a thread of this process: the caller and the response."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from contract_tests.waiting import WAIT_SECONDS
from dashboard.api_calls import Answer, Body
from gateway.api.operations import BODY, KEY
from gateway.http import in_process
from gateway.http.admission import CALLER, RateLimiter
from gateway.http.in_process import InProcess
from models.accounts.account import Account
from models.errors import ConflictError, RateLimitedError
from tests.asgi import OPERATIONS, PLANS


def _call(
    account: Account, part: ASGIApp, limiter: RateLimiter | None = None, *, is_counted: bool = True
) -> Answer:
    """The response to a call from a thread, like the pages' calls."""
    limiter = limiter or RateLimiter(PLANS)

    async def run() -> Answer:
        calls = InProcess(OPERATIONS, limiter)
        calls.part, calls.loop = part, asyncio.get_running_loop()
        headers, body = {"idempotency-key": "k"}, Body("application/json", 10, [b'{"to":', b'"1"}'])
        call = partial(calls, account, "/messages/send", headers, body, is_counted=is_counted)
        return await asyncio.to_thread(call)

    return asyncio.run(run())


def test_an_operation_is_called_for_the_account(account: Account) -> None:
    seen: list[Any] = []

    async def part(scope: Scope, _receive: Receive, send: Send) -> None:
        seen.append((scope[CALLER].account, scope[KEY].name, dict(scope["headers"]), scope[BODY]))
        headers = [(b"Idempotency-Replayed", b"true")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    answer = _call(account, part)
    assert answer.is_ok
    assert answer.headers["idempotency-replayed"] == "true"
    assert answer.body == b"{}"
    headers = {
        b"idempotency-key": b"k",
        b"content-type": b"application/json",
        b"content-length": b"10",
    }
    assert seen == [(account, "sendMessage", headers, b'{"to":"1"}')]


def test_a_call_counts_unless_its_page_was_counted_for_it(account: Account) -> None:
    called: list[Scope] = []

    async def part(scope: Scope, _receive: Receive, send: Send) -> None:
        called.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    limiter = RateLimiter({account.plan: 1})
    for is_counted in (True, True, False):
        assert _call(account, part, limiter, is_counted=is_counted).is_ok
    assert limiter.look(account)[1] == 0
    with pytest.raises(RateLimitedError) as refused:
        _call(account, part, limiter, is_counted=False)
    assert refused.value.retry_after
    assert len(called) == 3


def test_an_error_has_the_one_shape(account: Account) -> None:
    async def part(*_: object) -> None:
        raise ConflictError("The number is BANNED.", retry_after=2)

    answer = _call(account, part)
    assert (answer.status, answer.headers["retry-after"]) == (409, "2")
    assert answer.error["message"] == "The number is BANNED."
    assert not answer.is_ok


def test_a_crash_is_returned_as_an_internal_error(account: Account) -> None:
    async def part(*_: object) -> None:
        raise ZeroDivisionError

    assert json.loads(_call(account, part).body)["error"]["code"] == "INTERNAL_ERROR"


def test_a_loop_that_ends_leaves_no_call_waiting(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that waits would keep the process from ending."""
    monkeypatch.setattr(in_process, "LOOK_SECONDS", 0.01)
    called = threading.Event()

    async def part(*_: object) -> None:
        called.set()
        await asyncio.Future()

    calls = InProcess(OPERATIONS, RateLimiter(PLANS))
    calls.part, calls.loop = part, asyncio.new_event_loop()
    body = Body("application/json", 2, [b"{}"])
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(calls.loop.run_forever)
        call = pool.submit(calls, account, "/messages/send", {}, body, is_counted=True)
        assert called.wait(WAIT_SECONDS)
        calls.loop.call_soon_threadsafe(calls.loop.stop)
        running.result(WAIT_SECONDS)
        assert isinstance(call.exception(WAIT_SECONDS), TimeoutError)
    for task in asyncio.all_tasks(calls.loop):
        task.cancel()
    calls.loop.run_until_complete(asyncio.sleep(0))
    calls.loop.close()
