"""Endpoints without Connexion and Flask: the network's callbacks, and the stream of the page Live.

A callback is ingested or stored before the response (services.receiving).

Flask would hold a thread for each stream. This one is like that of GET /events/stream, with delivery attempts
and notices of WhatsApp besides the events. It is for users who are signed in to the dashboard.
"""

from functools import partial
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from dashboard.urls import RULES
from gateway.api.operations import BODY, MEBIBYTE
from gateway.http.admission import CALLER, Caller
from handlers.events import EventStream
from models.accounts.user import Role
from models.database import read
from models.deliveries.feed import LostPlaceError, Place, Wanted, newest
from services import receiving
from services.live_updates import LOST, Block, Source
from services.streams import Stream

# Bytes. A thread costs less than blocking the event loop to sign a larger body.
LARGE = MEBIBYTE // 8
# The page of each source. The roles of the page may see the source here.
PAGES = {Source.ATTEMPTS: "deliveries", Source.NOTICES: "number"}


async def intake(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the network's callback URL. Raises HTTPException or DomainError to refuse."""
    request = Request(scope, receive)
    response = Response()
    match request.method:
        case "GET" | "HEAD":
            response = PlainTextResponse(receiving.verify(request.query_params))
        case "POST":
            body = scope[BODY]
            if len(body) < LARGE:
                receiving.authenticate(body, request.headers)
            else:
                await run_in_threadpool(receiving.authenticate, body, request.headers)
            await receiving.door.take(body)
        case _:
            raise HTTPException(405, headers={"Allow": "GET, HEAD, POST"})
    await response(scope, receive, send)


async def live(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of /dashboard/live/stream."""
    response = await _answer(scope)
    await response(scope, receive, send)


async def _answer(scope: Scope) -> Response:
    caller: Caller = scope[CALLER]
    if scope["method"] != "GET":
        return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET"})
    if caller.user is None or caller.session is None:
        return Response(status_code=HTTPStatus.UNAUTHORIZED)
    is_allowed = Role(caller.user.role) in RULES["live"].roles
    if not is_allowed or caller.user.must_set_up_two_factor:
        return Response(status_code=HTTPStatus.FORBIDDEN)
    account_id = caller.user.account_id
    wanted = Wanted(account_id)
    # A browser that reconnects sends its last position.
    last = Place.at(Request(scope).headers.get("last-event-id", ""))
    place, blocks = await read(partial(_begin, wanted, last))
    stream = Stream(wanted, place, caller.session.id, sources_of(caller.user.role))
    stream.add(blocks)
    return EventStream(stream)


def _begin(wanted: Wanted, last: Place | None) -> tuple[Place, list[Block]]:
    """After the last event that the page has. If its place is lost, new events follow a block about it."""
    if last is None:
        return newest(wanted.account_id), []
    try:
        wanted.read(last, 1)
    except LostPlaceError:
        return newest(wanted.account_id), [LOST]
    return last, []


def sources_of(role: str) -> list[Source]:
    """The sources besides events that this role may see."""
    return [source for source, page in PAGES.items() if Role(role) in RULES[page].roles]
