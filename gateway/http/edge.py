"""What holds for every request, whatever it asks for.

Knows the caller, counts the request, bounds its body, puts the rate limit headers on every response,
and turns a crash of anything inside into the one error shape.
"""

import asyncio
import functools
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.api.operations import KEY, UPLOAD_LIMIT, Operation
from gateway.http.auth import (
    carries_credentials,
    identify,
    identify_at_once,
    identify_user,
    note_use,
    why,
)
from gateway.http.bodies import (
    BODY_KEY,
    MEBIBYTE,
    Body,
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    new_body,
)
from gateway.http.errors import CRASH_MESSAGE, ErrorAnswer, from_api_error, from_http_error
from gateway.http.rate_limit import RateLimiter, Window
from gateway.http.transfers import RETRY_AFTER, UPLOAD_SECONDS, TransferSlots
from gateway.ops.metrics import RATE_LIMITED
from handlers.errors import ApiError
from models.account import Account
from models.client_address import one_client
from models.database import answers_at_once

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

ADMITTING_THREADS = 20
BODY_LIMIT = MEBIBYTE
TOO_SLOW = ErrorAnswer(400, f"The request body did not arrive within {UPLOAD_SECONDS} seconds.")
BUSY = ErrorAnswer(
    429,
    "Too many uploads and downloads of media are under way. Try again when one of them is done.",
    {"Retry-After": str(RETRY_AFTER)},
)
STOPPING = ErrorAnswer(
    503,
    "This server is stopping and did nothing. Send the request again in a moment.",
    {"Retry-After": "1", "Connection": "close"},
)
# A body that is too large is read and thrown away up to here, so that the client gets its answer.
DRAIN_LIMIT = 16 * MEBIBYTE


class Traffic:
    """The requests of this process that are being answered, and whether new ones are taken."""

    def __init__(self) -> None:
        self.running = 0
        self.is_stopping = False

    def stop(self) -> None:
        """Take no new ones."""
        self.is_stopping = True

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """One that runs."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


@dataclass(frozen=True)
class Edge:
    """Wraps the application."""

    app: ASGIApp
    limiter: RateLimiter
    slots: TransferSlots
    traffic: Traffic = field(default_factory=Traffic, init=False)
    # They ask the database and Redis who a caller is and where they stand.
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(ADMITTING_THREADS, "admit"), init=False
    )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_new = not self.traffic.is_stopping
        with self.traffic.one_more() if is_new else nullcontext(), suppress(ClientGoneError):
            await self._serve(scope, receive, send, STOPPING if not is_new else None)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, refusal: ErrorAnswer | None
    ) -> None:
        path, address = scope["path"], address_of(scope.get("client"))
        operation: Operation = scope[KEY]
        try:
            account, window = await self._admit(scope, address, operation)
        except Exception:
            logger.exception("authentication crashed")
            window = await self._in_thread(self.limiter.count, None, address, metered=False)
            response = _Response(send, window, path)
            await response.fail(ErrorAnswer(500, CRASH_MESSAGE))
            return
        note_use(scope)
        response = _Response(send, window, path)
        refusal = refusal or _refusal(scope, operation, window)
        if not operation.transfer or refusal is not None:
            await self._answer(scope, receive, response, operation.body_limit, refusal)
        elif account is None:
            # Nobody may send as much as an upload before we know who it is.
            await self._answer(scope, receive, response, BODY_LIMIT, ErrorAnswer(401, why(scope)))
        elif not self.slots.take(account):
            await self._answer(scope, receive, response, BODY_LIMIT, BUSY)
        else:
            try:
                await self._answer(scope, receive, response, operation.body_limit, None)
            finally:
                self.slots.give_back(account)

    async def _admit(
        self, scope: Scope, address: str, operation: Operation
    ) -> tuple[Account | None, Window]:
        """Who asks, and where they stand. Nothing else waits, and at most one thread is asked."""
        metered = operation.metered
        if answers_at_once() and self.limiter.answers_at_once:
            account, user = await identify_at_once(scope)
            return account, self.limiter.count(account, address, metered=metered, user=user)
        if not (metered or carries_credentials(scope)):
            window = self.limiter.glance(address)
            if window is not None:
                return None, window

        def admit() -> tuple[Account | None, Window]:
            account, user = identify(scope), identify_user(scope)
            return account, self.limiter.count(account, address, metered=metered, user=user)

        return await self._in_thread(admit)

    async def _in_thread(self, work: Callable[..., Result], *given: Any, **named: Any) -> Result:
        call = functools.partial(copy_context().run, work, *given, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        response: "_Response",
        limit: int,
        refusal: ErrorAnswer | None,
    ) -> None:
        """Read the body of at most ``limit`` bytes, then refuse the request or let it pass."""
        seconds = UPLOAD_SECONDS if limit == UPLOAD_LIMIT else None
        with new_body() as body:
            try:
                await body.read(receive, limit, max(DRAIN_LIMIT, limit + MEBIBYTE), seconds)
            except BodyTooLargeError:
                text = f"The request body is larger than {limit} bytes."
                refusal = refusal or ErrorAnswer(413, text)
            except BodyTooSlowError:
                refusal = TOO_SLOW
            if refusal is not None:
                await response.fail(refusal)
                return
            await self._pass_on(scope, receive, response, body)

    async def _pass_on(
        self, scope: Scope, receive: Receive, response: "_Response", body: Body
    ) -> None:
        try:
            await self.app(_normalised(scope, body), body.replay(receive), response.send)
        except ApiError as error:
            await response.fail(from_api_error(error))
        except HTTPException as error:
            await response.fail(from_http_error(error, scope["path"], scope["method"]))
        except Exception:
            logger.exception("crash")
            await response.fail(ErrorAnswer(500, CRASH_MESSAGE))


class _Response:
    """The response on its way out, with the headers that every one carries."""

    def __init__(self, send: Send, window: Window, path: str) -> None:
        self._send = send
        self._path = path
        self._window = window
        self._started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", []), *self._window.headers]
            if any(b"\n" in value or b"\r" in value for _, value in headers):
                raise ValueError("a header of the response has several lines")
            self._started = True
            message = {**message, "headers": headers}
        await self._send(message)

    async def fail(self, answer: ErrorAnswer) -> None:
        """Answer with an error; a response that has begun already can only be cut off."""
        if self._started:
            return
        page = answer.at(self._path)
        headers = [
            (b"content-length", b"%d" % len(page.body)),
            *((k.lower().encode(), v.encode()) for k, v in page.headers.items()),
        ]
        await self.send({"type": "http.response.start", "status": page.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": page.body})


def _refusal(scope: Scope, operation: Operation, window: Window) -> ErrorAnswer | None:
    if window.exceeded:
        return _rate_limited(window)
    if operation.refusal is not None:
        return from_http_error(operation.refusal, scope["path"], scope["method"])
    return None


def _rate_limited(window: Window) -> ErrorAnswer:
    RATE_LIMITED.inc()
    seconds = window.retry_after
    return ErrorAnswer(
        429,
        f"The limit of {window.limit} requests a minute is used up. Try again in {seconds} seconds.",
        {"Retry-After": str(seconds)},
    )


def address_of(client: tuple[str, int] | None) -> str:
    """Who counts as one caller: an IPv4 address, or the 64 bits of a customer's IPv6 network."""
    return one_client(client[0] if client else "unknown")


def _normalised(scope: Scope, body: Body) -> Scope:
    """The scope as Connexion relies on it: with the body's length, and a media type in lower case.

    Connexion would let the body of an ``Application/JSON`` pass unchecked, and does not see a charset
    behind a blank. Under WSGI a header ``Idempotency_Key`` would pass for ``Idempotency-Key``, unchecked
    as well, so names with an underscore are dropped.
    """
    dropped = {b"content-length", b"transfer-encoding"}
    if not scope[KEY].takes_body:
        # Connexion would read a form of it.
        dropped.add(b"content-type")
    headers = [
        (k, _normalised_type(v) if k == b"content-type" else v)
        for k, v in scope["headers"]
        if k not in dropped and b"_" not in k
    ]
    size = (b"content-length", b"%d" % body.size)
    return {**scope, "headers": [*headers, size], BODY_KEY: body}


def _normalised_type(content_type: bytes) -> bytes:
    media_type, *parameters = (part.strip() for part in content_type.split(b";"))
    return b";".join([media_type.lower(), *parameters])
