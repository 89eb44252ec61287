"""What an operator sees of a request: its identifier, and one line and one span of what came of it.

Sits around the edge, so that refusals are seen like answers. Probes are not logged and not traced.
"""

import logging
import re
import time
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.api.operations import KEY, METHODS, Operations
from gateway.ops.metrics import REQUESTS
from models.identifier import new_id
from tasks.telemetry import request_fields, span

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"
UNSAID = "*"
SERVER_ERROR = 500
_ACCEPTABLE = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_PROPAGATOR = TraceContextTextMapPropagator()


def new_request_id() -> str:
    """An identifier for a request that brought none."""
    return new_id("req")


@dataclass
class _Exchange:
    """A response on its way out. ``status`` is None while none has begun."""

    send_on: Send
    request_id: str
    began: float = field(default_factory=time.perf_counter)
    status: int | None = None
    size: int = 0

    async def send(self, message: Message) -> None:
        """Pass a part of the response on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", []), (HEADER, self.request_id.encode())]
            message = {**message, "headers": headers}
        else:
            self.size += len(message.get("body", b""))
        await self.send_on(message)


@dataclass(frozen=True)
class Observed:
    """The outermost layer. It finds what a request asks for, and keeps it in the scope for all others.

    Line and span name the route in place of the path: the slug of a signup link lets its bearer in.
    """

    app: ASGIApp
    operations: Operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(send, _request_id(scope))
        operation = scope[KEY] = self.operations.find(scope["method"], scope["path"])
        token = request_fields.set({"request_id": exchange.request_id})
        try:
            if operation.logged:
                await self._observe(scope, receive, exchange)
            else:
                await self.app(scope, receive, exchange.send)
        finally:
            request_fields.reset(token)

    async def _observe(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        method = scope["method"] if scope["method"] in METHODS else UNSAID
        route = scope[KEY].route
        about = {
            "http.request.method": method,
            "http.route": route,
            "gateway.request_id": exchange.request_id,
        }
        with span(f"{method} {route}", SpanKind.SERVER, about, _trace_of_client(scope)) as shown:
            try:
                await self.app(scope, receive, exchange.send)
            finally:
                _report(method, route, exchange, shown)


def _report(method: str, route: str, exchange: _Exchange, shown: Span) -> None:
    status = exchange.status
    REQUESTS.labels(status=str(status)).inc()
    if status is not None:
        shown.set_attribute("http.response.status_code", status)
        if status >= SERVER_ERROR:
            shown.set_status(StatusCode.ERROR)
    fields = {
        "method": method,
        "path": route,
        "status": status,
        "duration_ms": round((time.perf_counter() - exchange.began) * 1000, 1),
        "bytes": exchange.size,
    }
    logger.info("request", extra={"fields": fields})


def _trace_of_client(scope: Scope) -> Context:
    """The trace that the client asks to go on with, without its tracestate, whose content is the client's."""
    given = [value for name, value in scope["headers"] if name == b"traceparent"]
    carrier = {"traceparent": given[0].decode("latin-1")} if len(given) == 1 else {}
    return _PROPAGATOR.extract(carrier)


def _request_id(scope: Scope) -> str:
    """The client's own identifier if it gave exactly one that is fit for a log, else a new one."""
    given = [value for name, value in scope["headers"] if name == HEADER]
    if len(given) == 1 and _ACCEPTABLE.fullmatch(given[0]):
        return str(given[0].decode())
    return new_request_id()
