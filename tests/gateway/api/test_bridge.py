"""The hop from ASGI to the Flask views."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, cast

import pytest
from a2wsgi import WSGIMiddleware
from starlette.types import ASGIApp, Message

from gateway.api.bridge import Bridge, Environ
from tests.asgi import ask, http_scope

DOWNLOAD = "/api/messages/msg_1/media"
WAIT_SECONDS = 10
HEADERS = {"Content-Type": "text/plain", "Accept": "a", "X-Two-Words": "b", "Content-Length": "4"}

Start = Callable[..., Callable[[bytes], None]]
Caller: ContextVar[str] = ContextVar("Caller")


def _nothing(_environ: Environ, start: Start) -> list[bytes]:
    start("204 NO CONTENT", [])
    return []


def _run(bridge: ASGIApp, path: str = "/healthz", body: bytes = b"") -> list[Message]:
    """The messages of the response to one request."""
    sent: list[Message] = []
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return unread.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> None:
        await bridge(http_scope(path=path), receive, send)

    asyncio.run(run())
    return sent


def test_a_response_in_pieces_is_sent_in_one() -> None:
    def app(_environ: Environ, start: Start) -> Iterator[bytes]:
        write = start("201 CREATED", [("X-Name", "ä"), ("X-Name", "b")])
        write(b"1")
        yield b"2"
        yield b"3"

    assert _run(Bridge(app, 1)) == [
        {
            "type": "http.response.start",
            "status": 201,
            "headers": [(b"x-name", b"\xe4"), (b"x-name", b"b")],
        },
        {"type": "http.response.body", "body": b"123"},
    ]


@pytest.mark.parametrize("path", ["/healthz", "/connect/ä b", "/api/messages/send"])
def test_a_view_sees_the_environ_that_a2wsgi_makes(path: str) -> None:
    seen: list[Environ] = []

    def app(environ: Environ, start: Start) -> list[bytes]:
        seen.append(environ | {"wsgi.input": environ["wsgi.input"].read(4), "asgi.scope": None})
        return _nothing(environ, start)

    bridges: list[ASGIApp] = [Bridge(app, 1), cast("ASGIApp", WSGIMiddleware(cast("Any", app)))]
    for bridge in bridges:
        scope = http_scope("POST", path, query=b"a=%C3%A4", headers=HEADERS)
        assert ask(bridge, scope, [b"body"]) is not None
    assert seen[0] == seen[1]
    assert (seen[0]["wsgi.input"], seen[0]["HTTP_X_TWO_WORDS"]) == (b"body", "b")


def test_a_view_sees_the_context_of_its_request() -> None:
    seen: list[str] = []

    def app(environ: Environ, start: Start) -> list[bytes]:
        seen.append(Caller.get())
        Caller.set("the view")
        return _nothing(environ, start)

    Caller.set("acc_1")
    _run(Bridge(app, 1))
    assert (seen, Caller.get()) == (["acc_1"], "acc_1")


class _Pieces:
    """A body whose second piece is a crash."""

    def __init__(self) -> None:
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    def close(self) -> None:
        self.closed = True


def test_a_crash_in_the_middle_of_a_response_sends_nothing_of_it_and_ends_the_request() -> None:
    pieces, sent = _Pieces(), []

    def app(_environ: Environ, start: Start) -> _Pieces:
        start("200 OK", [])
        return pieces

    with pytest.raises(ZeroDivisionError):
        sent += _run(Bridge(app, 1))
    assert pieces.closed
    assert not sent


def test_as_many_views_run_at_once_as_there_are_threads_and_no_more() -> None:
    both, running, most = threading.Barrier(2, timeout=WAIT_SECONDS), [0], [0]

    def app(environ: Environ, start: Start) -> list[bytes]:
        running[0] += 1
        most[0] = max(most[0], running[0])
        both.wait()
        running[0] -= 1
        both.wait()
        return _nothing(environ, start)

    async def ask_all(bridge: ASGIApp) -> None:
        async def receive() -> Message:
            return {"type": "http.request"}

        async def send(_message: Message) -> None:
            pass

        await asyncio.gather(*(bridge(http_scope(), receive, send) for _ in range(6)))

    asyncio.run(ask_all(Bridge(app, 2)))
    assert most == [2]


def test_media_are_streamed_as_their_client_takes_them() -> None:
    taken = threading.Event()
    waited: list[bool] = []

    def app(_environ: Environ, start: Start) -> Iterator[bytes]:
        start("200 OK", [])
        yield b"first"
        waited.append(taken.wait(WAIT_SECONDS))
        yield b"second"

    async def run() -> None:
        async def receive() -> Message:
            return {"type": "http.request"}

        async def send(message: Message) -> None:
            if message.get("body") == b"first":
                taken.set()

        await Bridge(app, 1)(http_scope(path=DOWNLOAD), receive, send)

    asyncio.run(run())
    assert waited == [True]
