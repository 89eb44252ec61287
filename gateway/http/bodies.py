"""The bodies of requests: bounded, and read to their end before anybody acts on a request."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from handlers.errors import PayloadTooLargeError

MEBIBYTE = 1024 * 1024
# To parse more takes the event loop longer than a thread costs, and each copy takes memory that counts.
LARGE = 64 * 1024


def bounded(receive: Receive, limit: int) -> Receive:
    """``receive`` for a body of at most ``limit`` bytes. It raises PayloadTooLargeError past them.

    The server throws away what nobody reads, so the client gets the answer.
    """
    left = limit

    async def receive_bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise PayloadTooLargeError(f"The request body is larger than {limit} bytes.")
        return message

    return receive_bounded


async def read_ahead(
    scope: Scope, receive: Receive, take_place: Callable[[], object]
) -> tuple[Scope, Receive]:
    """The request once its body is in, with the body's length. Raises ClientDisconnect.

    A slow client then holds no thread, and a request that breaks off changes nothing. ``take_place`` is
    called when the body turns out to be large, and may raise.
    """
    body = bytearray()
    async for piece in Request(scope, receive).stream():
        if len(body) <= LARGE < len(body) + len(piece):
            take_place()
        body += piece
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    told = {b"content-length", b"transfer-encoding"}
    headers = [header for header in scope["headers"] if header[0] not in told]
    size = (b"content-length", b"%d" % len(body))
    return {**scope, "headers": [*headers, size]}, replay
