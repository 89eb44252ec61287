"""The outermost layer: what holds for every request, whatever it asks for.

Knows the caller, counts the request, bounds its body, puts the rate limit headers on every response,
and turns a crash of anything inside into the one error shape.
"""

import logging
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.auth import identify
from gateway.errors import CRASH_MESSAGE, ErrorAnswer, from_http_error
from gateway.rate_limit import RateLimiter, Window

logger = logging.getLogger(__name__)

NETWORK_CALLBACK = "/network/callback"
# Probes of an operator and callbacks of the network are not a customer's requests.
UNMETERED = {"/healthz", "/readyz", "/metrics", NETWORK_CALLBACK}
MEBIBYTE = 1024 * 1024
BODY_LIMIT = MEBIBYTE
NETWORK_BODY_LIMIT = 4 * MEBIBYTE
# A body that is too large is read and thrown away up to here, so that the client gets its answer.
DRAIN_LIMIT = 16 * MEBIBYTE


class BodyTooLargeError(Exception):
    """The body is larger than the path allows."""


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


@dataclass(frozen=True)
class Edge:
    """Wraps the application."""

    app: ASGIApp
    limiter: RateLimiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            await self._serve(scope, receive, send)
        except ClientGoneError:
            return

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, address = scope["path"], _client_address(scope)
        try:
            account = await identify(scope)
        except Exception:
            logger.exception("authentication crashed")
            response = _Response(send, self.limiter.count(None, address, metered=False))
            await response.fail(ErrorAnswer(500, CRASH_MESSAGE))
            return
        window = self.limiter.count(account, address, metered=path not in UNMETERED)
        response = _Response(send, window)
        limit = NETWORK_BODY_LIMIT if path == NETWORK_CALLBACK else BODY_LIMIT
        try:
            body = await _read_body(receive, limit)
        except BodyTooLargeError:
            await response.fail(ErrorAnswer(413, f"The request body is larger than {limit} bytes."))
            return
        if window.exceeded:
            await response.fail(_rate_limited(window))
            return
        try:
            await self.app(_normalised(scope, body), _replay(body, receive), response.send)
        except HTTPException as error:
            await response.fail(from_http_error(error, path, scope["method"]))
        except Exception:
            logger.exception("crash")
            await response.fail(ErrorAnswer(500, CRASH_MESSAGE))


class _Response:
    """The response on its way out, with the headers that every one carries."""

    def __init__(self, send: Send, window: Window) -> None:
        self._send = send
        self._window = window
        self._started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            message = {**message, "headers": [*message.get("headers", []), *self._window.headers]}
        await self._send(message)

    async def fail(self, answer: ErrorAnswer) -> None:
        """Answer with an error; a response that has begun already can only be cut off."""
        if self._started:
            return
        body = answer.body
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            *((k.lower().encode(), v.encode()) for k, v in answer.headers.items()),
        ]
        await self.send(
            {"type": "http.response.start", "status": answer.status, "headers": headers}
        )
        await self.send({"type": "http.response.body", "body": body})


def _rate_limited(window: Window) -> ErrorAnswer:
    seconds = window.retry_after
    return ErrorAnswer(
        429,
        f"The limit of {window.limit} requests a minute is used up. Try again in {seconds} seconds.",
        {"Retry-After": str(seconds)},
    )


def _client_address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"


async def _read_body(receive: Receive, limit: int) -> bytes:
    body = bytearray()
    read = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        chunk = message.get("body", b"")
        read += len(chunk)
        more = message.get("more_body", False) and read <= DRAIN_LIMIT
        if read <= limit:
            body += chunk
    if read > limit:
        raise BodyTooLargeError
    return bytes(body)


def _normalised(scope: Scope, body: bytes) -> Scope:
    """The scope as Connexion relies on it: with the body's length, and a media type in lower case.

    Connexion would let the body of an ``Application/JSON`` pass unchecked, and does not see a charset
    behind a blank. Under WSGI a header ``Idempotency_Key`` would pass for ``Idempotency-Key``, unchecked
    as well, so names with an underscore are dropped.
    """
    dropped = {b"content-length", b"transfer-encoding"}
    headers = [
        (k, _normalised_type(v) if k == b"content-type" else v)
        for k, v in scope["headers"]
        if k not in dropped and b"_" not in k
    ]
    return {**scope, "headers": [*headers, (b"content-length", b"%d" % len(body))]}


def _normalised_type(content_type: bytes) -> bytes:
    media_type, *parameters = (part.strip() for part in content_type.split(b";"))
    return b";".join([media_type.lower(), *parameters])


def _replay(body: bytes, receive: Receive) -> Receive:
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return unread.pop() if unread else await receive()

    return replay
