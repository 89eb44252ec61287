"""/dashboard/live/stream: the account's events as they happen, for users who are signed in to the dashboard.

Flask would hold a thread for each stream. On the event loop it is a stream like that of GET /events/stream.
"""

from functools import partial
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.operations import LIVE
from gateway.http.auth import CALLER, Caller
from handlers.streams import EventStream, Stream
from models.database import read
from models.feed import Place, Wanted, newest


def with_live(pages: ASGIApp) -> ASGIApp:
    """The pages, and beside them the stream."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != LIVE:
            await pages(scope, receive, send)
            return
        await (await _answer(scope))(scope, receive, send)

    return serve


async def _answer(scope: Scope) -> Response:
    caller: Caller = scope[CALLER]
    if scope["method"] != "GET":
        return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET"})
    if caller.user is None or caller.session_id is None:
        return Response(status_code=HTTPStatus.UNAUTHORIZED)
    account_id = caller.user.account_id
    # A browser that lost the connection says where it was.
    last = Place.at(Headers(scope=scope).get("last-event-id", ""))
    place = await read(partial(newest, account_id)) if last is None else last
    return EventStream(Stream(Wanted(account_id), place, caller.session_id))
