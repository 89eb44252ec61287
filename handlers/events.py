"""Tag events of the contract: the account's events, for receivers that webhooks cannot reach."""

from functools import partial
from itertools import chain
from typing import Any

from connexion import request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from handlers.in_parts import in_parts
from handlers.renamed import renamed
from handlers.times import parse_time
from models.accounts.scope import chosen_number
from models.clock import timestamp
from models.database import read
from models.deliveries.event import Event
from models.deliveries.feed import START, LostPlaceError, Place, Wanted, newest
from models.errors import ConflictError, InvalidError
from models.numbers.number import Number
from resources.event import event_record
from resources.page import list_pieces
from services.streams import Stream, streams


class EventStream(StreamingResponse):
    """The response of a stream. The stream is open while the response is being sent."""

    def __init__(self, stream: Stream) -> None:
        # Otherwise nginx holds the events back until its buffer is full.
        headers = {"X-Accel-Buffering": "no"}
        super().__init__(stream.pieces(), headers=headers, media_type="text/event-stream")
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response (ASGI). Raises RateLimitedError."""
        with streams.opened(self._stream), self._stream.scope:
            if scope["method"] == "HEAD":
                self._stream.end()
            await super().__call__(scope, receive, send)


def list_events(  # noqa: PLR0913, PLR0917 - the parameters of the contract
    user: str,
    limit: int,
    after: str | None = None,
    kind: list[str] | None = None,
    number_id: str | None = None,
    since: str | None = None,
    offset: int = 0,  # noqa: ARG001 - the contract allows only 0
    event: list[str] | None = None,
    until: str | None = None,
) -> Response:
    """GET /events."""
    wanted = _wanted(user, renamed(event, kind), number_id, since, until)
    place = START if after is None else _place(after, "Query parameter after", "/after")
    events, end = _read(wanted, place, limit, "/after")
    records = (event_record(event, end.history) for event in events)
    data = list_pieces(record.encode() for record in records if record is not None)
    return in_parts(chain(data, [f'],"nextCursor":"{end.cursor}"}}'.encode()]))


async def stream_events(
    user: str,
    key_id: str,
    after: str | None = None,
    kind: list[str] | None = None,
    number_id: str | None = None,
    since: str | None = None,
    event: list[str] | None = None,
) -> EventStream:
    """GET /events/stream."""
    last = request.headers.get("Last-Event-ID")
    begin = partial(_begin, user, last, after, renamed(event, kind), number_id, since)
    wanted, place = await read(begin)
    return EventStream(Stream(wanted, place, key_id))


def _begin(user: str, last: str | None, after: str | None, *filters: Any) -> tuple[Wanted, Place]:
    """The filter of a stream and its first position. Raises DomainError."""
    wanted = _wanted(user, *filters)
    if last is not None:
        place, field = _place(last, "Header Last-Event-ID"), None
    elif after is not None:
        place, field = _place(after, "Query parameter after", "/after"), "/after"
    else:
        end = newest(user)
        return wanted, end if wanted.since is None else START._replace(history=end.history)
    # Read once, so that a cursor that is not valid is an error before the stream begins.
    _read(wanted, place, 1, field)
    return wanted, place


def _read(wanted: Wanted, place: Place, limit: int, field: str | None) -> tuple[list[Event], Place]:
    try:
        return wanted.read(place, limit)
    except LostPlaceError as error:
        since = timestamp(error.since)
        text = f"{error}. Read again with since={since}, and skip events whose id you know."
        raise ConflictError(text, field=field, since=since) from None


def _wanted(
    account_id: str,
    kinds: list[str] | None,
    number_id: str | None,
    since: str | None,
    until: str | None = None,
) -> Wanted:
    """The filters of a request. Raises DomainError."""
    if (number_id := chosen_number(number_id)) is not None:
        number_id = Number.owned(number_id, account_id, "/numberId").id
    moment = parse_time("Query parameter since", since, "/since")
    end = parse_time("Query parameter until", until, "/until")
    return Wanted(account_id, None if kinds is None else tuple(kinds), number_id, moment, end)


def _place(cursor: str, name: str, field: str | None = None) -> Place:
    place = Place.at(cursor)
    if place is None:
        raise InvalidError(f"{name}: {cursor[:64]!r} is not a cursor.", field=field)
    return place
