"""Requests to an ASGI application in process, message by message."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope

from gateway.api import contract
from gateway.api.operations import REPLY_WITH_MEDIA, Part
from gateway.http.access_log import RequestLog
from gateway.http.admission import RateLimiter
from gateway.http.edge import Edge, Operations

RULES = (
    "/connect/<slug>",
    "/dashboard/",
    REPLY_WITH_MEDIA,
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/ui/",
    "/api/openapi.yaml",
)
OPERATIONS = Operations(contract.load(), RULES)


PLANS = {"starter": 9, "pro": 9, "anonymous": 9}


def edge_of(
    app: ASGIApp, plans: dict[str, int] = PLANS, transfers: int = 2, root: str = ""
) -> Edge:
    """The edge around one application that handles every path."""
    parts, log = dict.fromkeys(Part, app), RequestLog(is_on=False)
    return Edge(parts, OPERATIONS, RateLimiter(plans), transfers, log, root)


@dataclass(frozen=True)
class Answered:
    """A response, and the number of request messages read for it. Header names are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    read: int

    def header(self, name: str) -> str:
        """The value of a header that occurs exactly once."""
        [value] = [value for key, value in self.headers if key == name]
        return value

    @property
    def error(self) -> Any:
        """The one error shape, unwrapped."""
        return json.loads(self.body)["error"]


def http_scope(
    method: str = "GET",
    path: str = "/",
    *,
    query: bytes = b"",
    headers: Mapping[str, str] | None = None,
    client: tuple[str, int] | None = ("192.0.2.1", 40000),
) -> Scope:
    """The scope of an HTTP request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in (headers or {}).items()],
        "client": client,
        "server": ("127.0.0.1", 8080),
    }


def content_of(response: Response) -> bytes:
    """The body of a handler's response, in one or several parts."""
    if not isinstance(response, StreamingResponse):
        return bytes(response.body)
    return b"".join(asyncio.run(parts_of(response)))


async def parts_of(response: StreamingResponse) -> list[bytes]:
    """The parts of a handler's response."""
    return [bytes(part) async for part in response.body_iterator]  # type: ignore[arg-type]


def one_message(body: bytes) -> Receive:
    """The ``receive`` of a client that sends this body at once."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def ask(app: ASGIApp, scope: Scope, chunks: Sequence[bytes | None] = (b"",)) -> Answered | None:
    """Send a request in chunks (None hangs up). Returns None if the application does not respond."""
    return asyncio.run(ask_in_loop(app, scope, chunks))


async def ask_in_loop(
    app: ASGIApp, scope: Scope, chunks: Sequence[bytes | None] = (b"",)
) -> Answered | None:
    """Like ask(), from an event loop."""
    unread = [
        {"type": "http.disconnect"}
        if chunk is None
        else {"type": "http.request", "body": chunk, "more_body": i < len(chunks) - 1}
        for i, chunk in enumerate(chunks)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return unread.pop(0) if unread else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if not sent:
        return None
    headers = [(k.decode(), v.decode("latin-1")) for k, v in sent[0]["headers"]]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answered(sent[0]["status"], headers, body, len(chunks) - len(unread))
