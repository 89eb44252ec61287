"""From ASGI to the Flask views, in one hop (docs/decisions/0029-one-hop-to-the-views.md).

A view runs in a thread. Its whole response is collected there and sent from the event loop in one go, so
that the two meet once for a request, and not at each piece of a response.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextvars import copy_context
from io import BytesIO
from typing import Any, cast

from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi import build_environ
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.http.bodies import whole
from gateway.http.transfers import is_transfer

Environ = dict[str, Any]
WsgiApp = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
_Answer = tuple[str, list[tuple[str, str]], bytes]


class Bridge:
    """The ASGI application that runs a WSGI one in a pool of ``threads``.

    Media are streamed by a2wsgi, piece by piece as the client takes them, in threads of the same pool.
    """

    def __init__(self, app: WsgiApp, threads: int) -> None:
        self._app = app
        streaming = WSGIMiddleware(cast("Any", app), workers=threads)
        self._streaming = cast("ASGIApp", streaming)
        self._pool = streaming.executor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or is_transfer(scope["method"], scope["path"]):
            await self._streaming(scope, receive, send)
            return
        environ = cast("Environ", build_environ(cast("Any", scope), cast("Any", None)))
        environ["wsgi.input"] = BytesIO(await whole(receive))
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._pool, copy_context().run, self._run, environ)
        for message in _messages(*answer):
            await send(message)

    def _run(self, environ: Environ) -> _Answer:
        """The whole answer of the WSGI application: its status, headers and body."""
        begun: list[tuple[str, list[tuple[str, str]]]] = []
        written: list[bytes] = []

        def start_response(
            status: str, headers: list[tuple[str, str]], _exc_info: object = None
        ) -> Callable[[bytes], None]:
            begun.append((status, headers))
            return written.append

        pieces = self._app(environ, start_response)
        try:
            written.extend(pieces)
        finally:
            # PEP 3333 asks for it; Flask's request ends there.
            getattr(pieces, "close", lambda: None)()
        return *begun[-1], b"".join(written)


def _messages(status: str, headers: list[tuple[str, str]], body: bytes) -> tuple[Message, Message]:
    encoded = [
        (name.strip().encode("latin-1").lower(), value.strip().encode("latin-1"))
        for name, value in headers
    ]
    code = int(status.partition(" ")[0])
    return (
        {"type": "http.response.start", "status": code, "headers": encoded},
        {"type": "http.response.body", "body": body},
    )
