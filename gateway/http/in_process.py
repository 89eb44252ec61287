"""Calls the contract's operations from threads of this process. The dashboard sends messages with it.

Calls use the same routing, validation and handlers as requests from outside. The rate limit counts them,
except the first of a page, whose form was counted. The API request log skips them.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import wait

from starlette.concurrency import iterate_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope

from dashboard.api_calls import Answer, Body
from gateway.api.operations import BASE, BODY
from gateway.http.access_log import Response
from gateway.http.admission import CALLER, Caller, RateLimiter
from gateway.http.edge import Operations, bounded, read
from models.accounts.account import Account

# Seconds between two looks whether the loop still runs.
LOOK_SECONDS = 1.0


class InProcess:
    """Calls ``part``, the application of the contract, on ``loop``, which serves requests."""

    part: ASGIApp
    loop: asyncio.AbstractEventLoop

    def __init__(self, operations: Operations, limiter: RateLimiter) -> None:
        self._operations = operations
        self._limiter = limiter

    def __call__(
        self,
        account: Account,
        path: str,
        headers: Mapping[str, str],
        body: Body,
        *,
        is_counted: bool,
    ) -> Answer:
        """See dashboard.api_calls.Call. Raises RateLimitedError, and TimeoutError if the loop ends."""
        if not is_counted:
            window = self._limiter.count(account.plan, account.id)
            if window.exceeded:
                raise window.refuse()
        asked = self._ask(account, f"{BASE}{path}", headers, body)
        answer = asyncio.run_coroutine_threadsafe(asked, self.loop)
        # A loop that has ended answers no call. The thread would keep the process from ending.
        while not answer.done() and self.loop.is_running():
            wait([answer], LOOK_SECONDS)
        return answer.result(0)

    async def _ask(
        self, account: Account, path: str, headers: Mapping[str, str], body: Body
    ) -> Answer:
        given = {**headers, "content-type": body.content_type, "content-length": str(body.size)}
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [
                (name.encode(), value.encode("latin-1", "replace")) for name, value in given.items()
            ],
            "client": None,
            "server": None,
            CALLER: Caller(account),
        }
        operation = self._operations.route(scope)
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        receive = bounded(_in_pieces(body), operation.body_limit)
        response = Response(scope, receive, send)
        try:
            if not operation.transfer:
                scope[BODY] = await read(scope, receive, lambda: None)
            await self.part(scope, receive, response.send)
        except Exception as error:  # noqa: BLE001 - it is logged, and the caller gets 500
            await response.fail(error)
        return _answer(sent)


def _in_pieces(body: Body) -> Receive:
    """``receive`` for the pieces of a body, which may come from a file."""
    pieces = aiter(iterate_in_threadpool(body.pieces))
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            # An in-process caller never disconnects.
            return await asyncio.Future()
        piece = await anext(pieces, b"")
        is_read = not piece
        return {"type": "http.request", "body": piece, "more_body": not is_read}

    return receive


def _answer(sent: list[Message]) -> Answer:
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent))
