"""/dashboard/live/stream: what happens in the account, for users who are signed in to the dashboard.

Flask would hold a thread for each stream. On the event loop it is a stream like that of GET /events/stream,
with delivery attempts and notices of WhatsApp besides the events.
"""

from functools import partial
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dashboard.urls import RULES
from gateway.http.admission import CALLER, Caller
from handlers.events import EventStream
from models.accounts.user import Role
from models.database import read
from models.deliveries.feed import LostPlaceError, Place, Wanted, newest
from services.live_updates import LOST, Block, Source
from services.streams import Stream

# The page of each source. The roles of the page may see the source here.
PAGES = {Source.ATTEMPTS: "deliveries", Source.NOTICES: "number"}


async def live(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of the stream."""
    response = await _answer(scope)
    await response(scope, receive, send)


async def _answer(scope: Scope) -> Response:
    caller: Caller = scope[CALLER]
    if scope["method"] != "GET":
        return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET"})
    if caller.user is None or caller.session is None:
        return Response(status_code=HTTPStatus.UNAUTHORIZED)
    if not _may(caller.user.role, "live"):
        return Response(status_code=HTTPStatus.FORBIDDEN)
    account_id = caller.user.account_id
    wanted = Wanted(account_id)
    # A browser that reconnects sends its last position.
    last = Place.at(Headers(scope=scope).get("last-event-id", ""))
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
    return [source for source, page in PAGES.items() if _may(role, page)]


def _may(role: str, page: str) -> bool:
    return Role(role) in RULES[page].roles
