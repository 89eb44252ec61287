"""The network's callbacks on their way in (docs/decisions/0036-callbacks-stored-together.md).

There are three for each message that is sent, and nobody waits for one of them: so those that come in quick
succession are stored together, and none goes through Connexion, Flask and a thread of its own.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.http.bodies import MEBIBYTE, whole
from gateway.http.methods import MethodNotAllowedError
from handlers import network_callback
from handlers.errors import ApiError
from networks import signature

PATH = "/network/callback"
# After a transaction the next one waits so long for company, unless there is enough of it already.
PAUSE_SECONDS = 0.01
ENOUGH = 8
MOST, MOST_BYTES = 64, 8 * MEBIBYTE
# To compute the signature of more than this holds the event loop up for longer than a thread costs.
LARGE = MEBIBYTE // 8

Store = Callable[[Sequence[bytes]], None]


class Together:
    """Stores bodies in a thread of its own, those that come in quick succession at once.

    The first after a quiet moment waits for nothing. For one event loop.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "intake")
        self._waiting: deque[tuple[bytes, asyncio.Future[None]]] = deque()
        self._is_storing = False
        self._pause: asyncio.TimerHandle | None = None

    async def add(self, body: bytes) -> None:
        """Return once it is stored. Raises what the storing of it and of others with it raised."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((body, stored))
        if self._pause is None or len(self._waiting) >= ENOUGH:
            self._go_on()
        await stored

    def _go_on(self) -> None:
        """Store what waits, if anything does and nothing is being stored."""
        if self._is_storing:
            return
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if not self._waiting:
            return
        self._is_storing = True
        bodies, futures = zip(*self._take(), strict=True)
        work = asyncio.get_running_loop().run_in_executor(self._thread, self._store, bodies)
        work.add_done_callback(lambda done: self._finish(done, futures))

    def _take(self) -> list[tuple[bytes, asyncio.Future[None]]]:
        """The oldest, of which the first may be of any size."""
        taken = [self._waiting.popleft()]
        size = len(taken[0][0])
        while self._waiting and len(taken) < MOST:
            size += len(self._waiting[0][0])
            if size > MOST_BYTES:
                break
            taken.append(self._waiting.popleft())
        return taken

    def _finish(self, done: asyncio.Future[None], futures: Sequence[asyncio.Future[None]]) -> None:
        error = done.exception()
        for future in futures:
            if future.done():
                # Its client has gone.
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
        self._is_storing = False
        if len(self._waiting) >= ENOUGH:
            self._go_on()
        else:
            self._pause = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._go_on)


class Intake:
    """Answers what the network asks at its callback, and leaves everything else to ``app``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._together = Together(network_callback.store)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. Raises HTTPException for what is refused."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        try:
            response = await self._answer(Request(scope), receive)
        except ApiError as error:
            raise HTTPException(error.status, error.message) from error
        await response(scope, receive, send)

    async def _answer(self, request: Request, receive: Receive) -> Response:
        match request.method:
            case "GET" | "HEAD":
                return PlainTextResponse(network_callback.verify(request.query_params))
            case "POST":
                await self._take_in(await whole(receive), request.headers.get(signature.HEADER))
                return Response()
            case _:
                raise MethodNotAllowedError({"GET", "HEAD", "POST"})

    async def _take_in(self, body: bytes, given: str | None) -> None:
        if len(body) < LARGE:
            network_callback.authenticate(body, given)
        else:
            await run_in_threadpool(network_callback.authenticate, body, given)
        await self._together.add(body)
