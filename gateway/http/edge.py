"""The outermost application, which every request passes.

Finds the operation, identifies the caller, counts the request, limits and reads its body, adds the rate
limit headers to every response, and turns exceptions into error responses.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from typing import Any
from weakref import WeakValueDictionary

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from werkzeug.exceptions import NotFound
from werkzeug.routing import Map, RequestRedirect, Rule

from gateway.api.operations import (
    BASE,
    BODY,
    KEY,
    LARGE_BODY,
    MEBIBYTE,
    NOT_FOUND,
    UNKNOWN,
    UNKNOWN_PAGE,
    UPLOADS,
    Operation,
    Part,
    of_contract,
    of_pages,
)
from gateway.http.access_log import RequestLog, Response, observed
from gateway.http.admission import (
    CALLER,
    NOBODY,
    REFUSAL,
    Admission,
    Caller,
    RateLimiter,
    Window,
)
from gateway.http.connections import EDGE
from gateway.http.exception_handlers import ApiError
from services.fair_share import Share
from services.streams import streams

METERED = {Part.API, Part.PAGES, Part.UPLOADS, Part.LIVE}
# Large bodies that are not media: each may be of 4 MiB.
LARGE_BODIES, LARGE_BODIES_EACH = 32, 4
# Requests of one account in threads at once. They share Python's lock, and writes that of the database, so
# more would delay all accounts, and finish no sooner.
TURNS = 2
# The turns of each account. Those of accounts without a request are dropped.
Turns = WeakValueDictionary[str, asyncio.Semaphore]
# Bytes of a body that takes a turn of its own kind: it takes milliseconds to validate and to store.
LONG_BODY = 16 * 1024


class Operations:
    """The operations of ``contract``, and the pages beside it by Flask's ``rules``.

    Connexion's own search would name only the methods of the first route that fits a path in ``Allow``, and
    would take ``GET /messages/send`` for a message called "send".
    """

    def __init__(self, contract: Mapping[str, Any], rules: Iterable[str]) -> None:
        self._pages, self._contract = of_pages(rules), of_contract(contract)
        # Without methods: a concrete path wins over a template for every method.
        found = [
            Rule(path.replace("{", "<").replace("}", ">"), endpoint=path)
            for path in (*self._pages, *self._contract)
        ]
        self._paths = Map(found, merge_slashes=False).bind("")

    def route(self, scope: Scope) -> Operation:
        """The target of a request, which is then in its scope, with the parameters in its path.

        One of the contract may be refused: 404, or 405 with the methods it has. A page is not: Flask knows
        its methods, and has a page for what does not exist.
        """
        path = scope["path"]
        is_ours = f"{path}/".startswith(f"{BASE}/") or "//" in path
        found = NOT_FOUND if is_ours else UNKNOWN_PAGE
        parameters: Mapping[str, Any] = {}
        # Werkzeug ignores further slashes at the start. No identifier has a line feed.
        if not path.startswith("//") and not (is_ours and "\n" in path):
            with suppress(NotFound, RequestRedirect):
                route, parameters = self._paths.match(path)
                found = self._of(scope["method"], route)
        scope[KEY], scope["path_params"] = found, dict(parameters)
        return found

    def _of(self, method: str, route: str) -> Operation:
        if (operations := self._contract.get(route)) is None:
            upload = UPLOADS.get(route) if method == "POST" else None
            return upload or self._pages[route]
        if method not in operations:
            allowed = ", ".join(sorted(operations))
            return Operation(route, refusal=HTTPException(405, headers={"Allow": allowed}))
        return operations[method]


class Edge:
    """The application that the server calls. ``parts`` handle requests; ``transfers`` limits media.

    ``root`` is the path of the public URL. Some proxies remove it from a request, others do not.
    """

    def __init__(
        self,
        parts: Mapping[Part, ASGIApp],
        operations: Operations,
        limiter: RateLimiter,
        transfers: int,
        log: RequestLog,
        root: str = "",
    ) -> None:
        self.limiter = limiter
        self._admission = Admission(limiter)
        # The running requests, and whether new ones are refused.
        self.running: set[Response] = set()
        self.is_stopping = False
        self._parts = parts
        self._operations = operations
        self._log = log
        self._root = root
        # One account takes at most half of them.
        each = max(1, transfers // 2)
        self._transfers = Share("uploads and downloads", each, transfers)
        self._large_bodies = Share("large requests", LARGE_BODIES_EACH, LARGE_BODIES)
        # A send may wait for the network for long, and holds up no list.
        self._turns, self._turns_of_long_bodies = Turns(), Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            # Lifespan events. The server finds its edge in this state.
            scope["state"][EDGE] = self
            await self._parts[Part.API](scope, receive, send)
            return
        operation = self._route(scope)
        response = Response(scope, receive, send)
        work = self._refuse
        if not self.is_stopping:
            work = self._serve
            self.running.add(response)
        with observed(scope, operation, response):
            try:
                await work(scope, receive, response)
            except ClientDisconnect:
                # The client disconnected.
                return
            except Exception as error:  # noqa: BLE001 - it is logged, and the client gets 500
                await response.fail(error)
            finally:
                self.running.discard(response)
            self._log.note(scope, response)

    def _route(self, scope: Scope) -> Operation:
        """Find the operation. Removes the root from the path, unless it is a known path with it."""
        found, root, path = self._operations.route(scope), self._root, scope["path"]
        if found.route != UNKNOWN or not (root and f"{path}/".startswith(f"{root}/")):
            return found
        scope["path"] = path.removeprefix(root) or "/"
        return self._operations.route(scope)

    def stop(self) -> None:
        """Refuse new requests, and end open streams."""
        self.is_stopping = True
        streams.stop()

    async def _refuse(self, scope: Scope, receive: Receive, response: Response) -> None:
        # The connection closes afterwards. With an unread body, the response would be lost.
        with suppress(ApiError, ClientDisconnect):
            await read(scope, bounded(receive, MEBIBYTE), lambda: None)
        await self._admit(scope, response)
        raise ApiError(
            "This server is stopping and did nothing. Send the request again in a moment.",
            status=503,
            retry_after=1,
            headers={"Connection": "close"},
        )

    async def _serve(self, scope: Scope, receive: Receive, response: Response) -> None:
        window = await self._admit(scope, response)
        operation: Operation = scope[KEY]
        if window.exceeded:
            scope[REFUSAL] = window.refuse()
            if not await self._admission.may_show(scope):
                raise scope[REFUSAL]
        if operation.refusal is not None:
            await response.fail(operation.refusal)
        else:
            limit = operation.body_limit
            if operation.roles is not None:
                user = scope[CALLER].user
                limit = limit if user and user.role in operation.roles else MEBIBYTE
            await self._pass_on(scope, bounded(receive, limit), response)

    async def _admit(self, scope: Scope, response: Response) -> Window:
        """Identify the caller and count the request. Returns what the caller has left."""
        try:
            is_metered = scope[KEY].part in METERED
            window = await self._admission.admit(scope, response.at, is_metered=is_metered)
        except Exception:
            counted = NOBODY.counted(scope.get("client"))
            response.headers += self.limiter.look_here(*counted).headers
            raise
        response.headers += window.headers
        return window

    async def _pass_on(self, scope: Scope, receive: Receive, response: Response) -> None:
        operation: Operation = scope[KEY]
        caller: Caller = scope[CALLER]
        body = None
        with ExitStack() as places:
            if operation.transfer and caller.account_id is not None:
                places.enter_context(self._transfers.of(caller.account_id))
            # The handler of an upload reads the file itself.
            if not (operation.transfer and operation.takes_body):

                def take_place() -> None:
                    _, counted = caller.counted(scope.get("client"))
                    places.enter_context(self._large_bodies.of(counted))

                body = await read(scope, receive, take_place)
                receive = replayed(body, receive)
            part, normalised = self._parts[operation.part], _normalised(scope, body)
            # The form of a page may wait for the network.
            is_form = operation.part is Part.PAGES and scope["method"] == "POST"
            turns = None
            if len(body or b"") > LONG_BODY:
                turns = self._turns_of_long_bodies
            elif operation.by_turns and not is_form:
                turns = self._turns
            if turns is not None and caller.account_id:
                waiting = turns.setdefault(caller.account_id, asyncio.Semaphore(TURNS))
                await response.take_turn(waiting)
                places.callback(response.end_turn)
            await part(normalised, receive, response.send)


def bounded(receive: Receive, limit: int) -> Receive:
    """``receive`` for a body of at most ``limit`` bytes. It raises ApiError past them.

    The server discards the unread rest, so the client gets the response.
    """
    left = limit

    async def receive_bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise ApiError(f"The request body is larger than {limit} bytes.", status=413)
        return message

    return receive_bounded


async def read(scope: Scope, receive: Receive, take_place: Callable[[], object]) -> bytes:
    """The whole body. Raises ClientDisconnect.

    So a slow client holds no thread, and an interrupted request changes nothing. ``take_place`` is called
    for a large body, and may raise.
    """
    body = bytearray()
    async for piece in Request(scope, receive).stream():
        if len(body) <= LARGE_BODY < len(body) + len(piece):
            take_place()
        body += piece
    return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """``receive`` for a body that was read."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_replayed() -> Message:
        return messages.pop() if messages else await receive()

    return receive_replayed


def _normalised(scope: Scope, body: bytes | None) -> Scope:
    """The scope that Connexion needs: with a media type in lower case, and the length of a read body.

    Connexion would not validate the body of an ``Application/JSON``, and misses a charset after a blank.
    Under WSGI a header ``Idempotency_Key`` would replace ``Idempotency-Key`` without validation, so names
    with an underscore are dropped.
    """
    # Connexion would try to read a form from a request without one.
    dropped = set() if scope[KEY].takes_body else {b"content-type"}
    size = []
    if body is not None:
        dropped |= {b"content-length", b"transfer-encoding"}
        size = [(b"content-length", b"%d" % len(body))]
    headers = [
        (k, _normalised_type(v) if k == b"content-type" else v)
        for k, v in scope["headers"]
        if k not in dropped and b"_" not in k
    ]
    # Not in the server's scope, which an idle connection keeps.
    return {**scope, "headers": headers + size, BODY: body}


def _normalised_type(content_type: bytes) -> bytes:
    media_type, *parameters = (part.strip() for part in content_type.split(b";"))
    return b";".join([media_type.lower(), *parameters])
