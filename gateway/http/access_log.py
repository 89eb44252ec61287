"""Gives each request an identifier, one log line and one span for operators.

Probes are not logged and not traced. Line and span name the route instead of the path, because the slug of
a signup link is a credential.
"""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from gateway.api.operations import METHODS, UNKNOWN, Operation, Part
from gateway.http.exception_handlers import as_api_error, response_to
from gateway.ops.metrics import REQUESTS
from models.clock import new_id
from services.telemetry import request_fields, span

logger = logging.getLogger(__name__)

HEADER = "x-request-id"
# The prefix of an identifier for a request without one.
PREFIX = "req"
CLIENT_ERROR, SERVER_ERROR = 400, 500
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PROPAGATOR = TraceContextTextMapPropagator()


class Response:
    """The response to a request. ``status`` is None before it begins.

    ``headers`` are those that every response carries.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).getlist(HEADER)
        is_fit = len(given) == 1 and _ACCEPTABLE.fullmatch(given[0])
        # The client's identifier if it sent exactly one that is safe to log.
        self.request_id = given[0] if is_fit else new_id(PREFIX)
        self.headers = [(HEADER.encode(), self.request_id.encode())]
        self.status: int | None = None
        self.size = 0
        # The body, if it is an error.
        self.error = b""
        self._scope, self._receive, self._send = scope, receive, send

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", []), *self.headers]
            if any(b"\n" in value or b"\r" in value for _, value in headers):
                raise ValueError("a header of the response has several lines")
            self.status = message["status"]
            message = {**message, "headers": headers}
        else:
            body = message.get("body", b"")
            self.size += len(body)
            if self.status is not None and self.status >= CLIENT_ERROR:
                self.error += body
        await self._send(message)

    async def fail(self, error: Exception) -> None:
        """Respond with an error. A response that has already begun can only be cut off."""
        path = self._scope["path"]
        error = as_api_error(error, path, self._scope["method"])
        if self.status is None:
            await response_to(error, path)(self._scope, self._receive, self.send)


@contextmanager
def observed(scope: Scope, operation: Operation, response: Response) -> Iterator[None]:
    """Observe the request in this block."""
    began = time.perf_counter()
    token = request_fields.set({"request_id": response.request_id})
    method = scope["method"] if scope["method"] in METHODS else UNKNOWN
    try:
        if operation.part is Part.PROBES:
            yield
            return
        about = {
            "http.request.method": method,
            "http.route": operation.route,
            "gateway.request_id": response.request_id,
        }
        name = f"{method} {operation.route}"
        with span(name, SpanKind.SERVER, about, _trace_of_client(scope)) as shown:
            try:
                yield
            finally:
                fields = {"method": method, "path": operation.route}
                _report(response, shown, fields, time.perf_counter() - began)
    finally:
        request_fields.reset(token)


def _report(response: Response, shown: Span, fields: dict[str, object], seconds: float) -> None:
    status = response.status
    REQUESTS.labels(status=str(status)).inc()
    if status is not None:
        shown.set_attribute("http.response.status_code", status)
        if status >= SERVER_ERROR:
            shown.set_status(StatusCode.ERROR)
    fields |= {"status": status, "duration_ms": round(seconds * 1000, 1), "bytes": response.size}
    logger.info("request", extra={"fields": fields})


def _trace_of_client(scope: Scope) -> Context:
    """The client's trace to continue, without its tracestate, which may hold anything."""
    given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"]
    return _PROPAGATOR.extract({"traceparent": given[0]} if len(given) == 1 else {})
