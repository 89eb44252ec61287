"""Calls of the API's operations from a thread of this process: the caller and the response."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from contract_tests.waiting import WAIT_SECONDS
from dashboard.api_calls import Answer, Body
from gateway.api.operations import BODY, KEY
from gateway.http import in_process
from gateway.http.admission import CALLER
from gateway.http.in_process import InProcess
from models.accounts.account import Account
from models.errors import ConflictError
from tests.asgi import OPERATIONS


def _call(account: Account, part: ASGIApp) -> Answer:
    """The response to a call from a thread, like the pages' calls."""

    async def run() -> Answer:
        calls = InProcess(OPERATIONS)
        calls.part, calls.loop = part, asyncio.get_running_loop()
        headers, body = {"idempotency-key": "k"}, Body("application/json", 10, [b'{"to":', b'"1"}'])
        return await asyncio.to_thread(calls, account, "/messages/send", headers, body)

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

    calls = InProcess(OPERATIONS)
    calls.part, calls.loop = part, asyncio.new_event_loop()
    body = Body("application/json", 2, [b"{}"])
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(calls.loop.run_forever)
        call = pool.submit(calls, account, "/messages/send", {}, body)
        assert called.wait(WAIT_SECONDS)
        calls.loop.call_soon_threadsafe(calls.loop.stop)
        running.result(WAIT_SECONDS)
        assert isinstance(call.exception(WAIT_SECONDS), TimeoutError)
    for task in asyncio.all_tasks(calls.loop):
        task.cancel()
    calls.loop.run_until_complete(asyncio.sleep(0))
    calls.loop.close()
