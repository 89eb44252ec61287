"""What holds for every request, whatever it asks for.

Knows the caller, counts the request, bounds its body, puts the rate limit headers on every response,
and turns a crash of anything inside into the one error shape.
"""

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.api.operations import KEY, Operation
from gateway.http.auth import CALLER, NOBODY, Caller, Credentials, identify, note_use
from gateway.http.bodies import MEBIBYTE, bounded, read_ahead
from gateway.http.errors import as_api_error, page_of
from gateway.http.places import Places, for_large_bodies
from gateway.http.rate_limit import RateLimiter, Window
from gateway.ops.metrics import RATE_LIMITED
from handlers.errors import ApiError, PayloadTooLargeError, ThrottledError
from models.database import answers_at_once

logger = logging.getLogger(__name__)

ADMITTING_THREADS = 20
STOPPING = ApiError(
    "This server is stopping and did nothing. Send the request again in a moment.",
    status=503,
    retry_after=1,
    headers={"Connection": "close"},
)


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
    transfers: Places
    large_bodies: Places = field(default_factory=for_large_bodies, init=False)
    traffic: Traffic = field(default_factory=Traffic, init=False)
    # They ask the database and Redis who a caller is, and how many requests the caller has left.
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(ADMITTING_THREADS, "admit"), init=False
    )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif self.traffic.is_stopping:
            # The connection is closed then. A body that is not read would take the response with it.
            with suppress(PayloadTooLargeError, ClientDisconnect):
                await read_ahead(scope, bounded(receive, MEBIBYTE), lambda: None)
            await self._serve(scope, receive, send, STOPPING)
        else:
            with self.traffic.one_more():
                await self._serve(scope, receive, send, None)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, refusal: ApiError | None
    ) -> None:
        operation: Operation = scope[KEY]
        try:
            caller, window = await self._admit(scope, metered=operation.metered)
        except Exception as error:  # noqa: BLE001 - it is logged, and the client gets 500
            caller, refusal = NOBODY, as_api_error(error, scope["path"], scope["method"])
            window = self.limiter.look_here(*caller.counted(scope.get("client")))
        scope[CALLER] = caller
        note_use(caller)
        response = _Response(send, window, scope["path"])
        refusal = refusal or _refusal(scope, operation, window)
        if refusal is not None:
            await response.fail(refusal)
        else:
            await self._pass_on(scope, bounded(receive, operation.body_limit), response)

    async def _admit(self, scope: Scope, *, metered: bool) -> tuple[Caller, Window]:
        """Who asks, and how many requests are left. Takes a thread only if something has to be waited for."""
        given, limiter = Credentials.of(scope), self.limiter

        def admit() -> tuple[Caller, Window]:
            caller = identify(given)
            counted = caller.counted(scope.get("client"))
            return caller, (limiter.count if metered else limiter.look_here)(*counted)

        reads = given.token is not None or given.session is not None
        waits = (reads and not answers_at_once()) or (metered and not limiter.answers_at_once)
        # To ask a thread for two rows of a local file costs several times what it takes to read them here.
        if not waits and given.session is None:
            return admit()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, copy_context().run, admit
        )

    async def _pass_on(self, scope: Scope, receive: Receive, response: "_Response") -> None:
        operation: Operation = scope[KEY]
        caller: Caller = scope[CALLER]
        _, counted = caller.counted(scope.get("client"))
        try:
            with ExitStack() as places:
                if operation.transfer and caller.account is not None:
                    places.enter_context(self.transfers.place(counted))
                if not operation.streams_body:
                    take = partial(self.large_bodies.place, counted)
                    scope, receive = await read_ahead(
                        scope, receive, lambda: places.enter_context(take())
                    )
                await self.app(_normalised(scope), receive, response.send)
        except ClientDisconnect:
            # Nobody is left to be answered.
            return
        except Exception as error:  # noqa: BLE001 - it is logged, and the client gets 500
            await response.fail(as_api_error(error, scope["path"], scope["method"]))


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

    async def fail(self, error: ApiError) -> None:
        """Answer with an error; a response that has begun already can only be cut off."""
        if self._started:
            return
        page = page_of(error, self._path)
        headers = [
            (b"content-length", b"%d" % len(page.body)),
            *((k.lower().encode(), v.encode()) for k, v in page.headers.items()),
        ]
        await self.send({"type": "http.response.start", "status": page.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": page.body})


def _refusal(scope: Scope, operation: Operation, window: Window) -> ApiError | None:
    if window.exceeded:
        return _rate_limited(window)
    if operation.refusal is not None:
        return as_api_error(operation.refusal, scope["path"], scope["method"])
    return None


def _rate_limited(window: Window) -> ApiError:
    RATE_LIMITED.inc()
    seconds = window.retry_after
    return ThrottledError(
        f"The limit of {window.limit} requests a minute is used up. Try again in {seconds} seconds.",
        retry_after=seconds,
    )


def _normalised(scope: Scope) -> Scope:
    """The scope as Connexion relies on it: with a media type in lower case.

    Connexion would let the body of an ``Application/JSON`` pass unchecked, and does not see a charset
    behind a blank. Under WSGI a header ``Idempotency_Key`` would pass for ``Idempotency-Key``, unchecked
    as well, so names with an underscore are dropped.
    """
    # Connexion would read a form of a request that has none.
    dropped = set() if scope[KEY].takes_body else {b"content-type"}
    headers = [
        (k, _normalised_type(v) if k == b"content-type" else v)
        for k, v in scope["headers"]
        if k not in dropped and b"_" not in k
    ]
    return {**scope, "headers": headers}


def _normalised_type(content_type: bytes) -> bytes:
    media_type, *parameters = (part.strip() for part in content_type.split(b";"))
    return b";".join([media_type.lower(), *parameters])
