"""Records each request: an identifier, one log line and one span for operators, an entry for its account.

Probes are not logged and not traced. Line and span name the route instead of the path, because the slug of
a signup link is a credential.

The entries are the API request log of the dashboard. They wait in memory for a second and are written
together. A request never waits: while the database is slow, entries are dropped and counted. A crash loses
the entries of the last second.
"""

import asyncio
import contextvars
import logging
import re
import time
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from peewee import DatabaseError
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from gateway.api.operations import KEY, METHODS, UNKNOWN, Operation, Part
from gateway.http.admission import CALLER, NOBODY, Caller
from gateway.http.exception_handlers import as_api_error, response_to
from gateway.http.request_log import without_text
from gateway.ops.metrics import REQUEST_LOG_DROPPED, REQUESTS
from models import clock
from models.accounts.api_request import ApiRequest
from models.database import commit
from services import telemetry
from services.telemetry import request_fields

logger = logging.getLogger(__name__)

HEADER = "x-request-id"
# Of every response that does not set them itself: no browser guesses a type, and no cache stores an answer.
GUARDS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
# A browser that opens a response of the API saves it under this name instead of that in its URL.
DISPOSITION = b"content-disposition"
FILES = {
    b"application/json": (DISPOSITION, b'attachment; filename="api.json"'),
    b"text/event-stream": (DISPOSITION, b'attachment; filename="api.txt"'),
}
# The prefix of an identifier for a request without one.
PREFIX = "req"
CLIENT_ERROR, SERVER_ERROR = 400, 500
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,128}")
_PROPAGATOR = TraceContextTextMapPropagator()
PAUSE_SECONDS = 1.0
# Entries of one transaction. It takes some milliseconds, which block sends on SQLite.
BATCH = 200
# The most waiting entries, of some hundred bytes each.
MOST_WAITING = 5_000
# Rate-limited requests are cheap for the caller and must not fill the disk.
MOST_THROTTLED = 10
THROTTLED = 429


class Response:
    """The response to a request, and its turn (ADR 87). ``status`` is None before it begins.

    ``headers`` are those that every response carries. ``at`` is when the request came, see models.clock, and
    ``began`` the same by time.perf_counter().
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.at, self.began = clock.now(), time.perf_counter()
        given = Headers(scope=scope).getlist(HEADER)
        is_fit = len(given) == 1 and _ACCEPTABLE.fullmatch(given[0])
        # The client's identifier if it sent exactly one that is safe to log.
        self.request_id = given[0] if is_fit else clock.new_id(PREFIX)
        self.headers = [(HEADER.encode(), self.request_id.encode())]
        self.status: int | None = None
        self.size = 0
        # The body, if it is an error.
        self.error = b""
        self._scope, self._receive, self._send = scope, receive, send
        self._turns: asyncio.Semaphore | None = None
        self._has_turn = False
        self._is_of_api = scope[KEY].part is Part.API

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            given = message.get("headers", [])
            present = {name.lower(): value for name, value in given}
            added = [*GUARDS, *(self._files(present) if self._is_of_api else ())]
            headers = [*given, *self.headers, *(each for each in added if each[0] not in present)]
            if any(b"\n" in value or b"\r" in value for _, value in headers):
                raise ValueError("a header of the response has several lines")
            self.status = message["status"]
            message = {**message, "headers": headers}
        else:
            body = message.get("body", b"")
            self.size += len(body)
            if self.status is not None and self.status >= CLIENT_ERROR:
                self.error += body
        # A slow client keeps no turn. The next part of the response is made in another one.
        self.end_turn()
        await self._send(message)
        if self._turns and message.get("more_body", False):
            await self.take_turn(self._turns)

    async def take_turn(self, turns: asyncio.Semaphore) -> None:
        """Wait for one of these turns. It ends with a part of the response."""
        await turns.acquire()
        self._turns, self._has_turn = turns, True

    def end_turn(self) -> None:
        """End the turn, if the request has one."""
        if self._turns and self._has_turn:
            self._has_turn = False
            self._turns.release()

    @staticmethod
    def _files(present: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        kind = present.get(b"content-type", b"").partition(b";")[0]
        return [FILES[kind]] if kind in FILES else []

    async def fail(self, error: Exception) -> None:
        """Respond with an error. A response that has already begun can only be cut off."""
        path = self._scope["path"]
        error = as_api_error(error, path, self._scope["method"])
        if self.status is None:
            await response_to(error, path)(self._scope, self._receive, self.send)


@contextmanager
def observed(scope: Scope, operation: Operation, response: Response) -> Iterator[None]:
    """Observe the request in this block."""
    fields = {"request_id": response.request_id}
    token = request_fields.set(fields)
    try:
        if operation.part is Part.PROBES:
            yield
            return
        method = scope["method"] if scope["method"] in METHODS else UNKNOWN
        with _span(method, operation, response, scope) as shown:
            try:
                yield
            finally:
                if "account_id" in fields:
                    shown.set_attribute("gateway.account_id", fields["account_id"])
                _report(response, shown, {"method": method, "path": operation.route})
    finally:
        request_fields.reset(token)


def _span(
    method: str, operation: Operation, response: Response, scope: Scope
) -> AbstractContextManager[Span]:
    if telemetry.tracer is None:
        return nullcontext(INVALID_SPAN)
    about = {
        "http.request.method": method,
        "http.route": operation.route,
        "gateway.request_id": response.request_id,
    }
    name = f"{method} {operation.route}"
    return telemetry.span(name, SpanKind.SERVER, about, _trace_of_client(scope))


def _report(response: Response, shown: Span, fields: dict[str, object]) -> None:
    status, seconds = response.status, time.perf_counter() - response.began
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


class RequestLog:
    """Gathers the requests of this process for the accounts' logs."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on
        self._waiting: list[dict[str, Any]] = []
        self._throttled: Tally[str] = Tally()
        self._writing: asyncio.Task[None] | None = None
        self._is_ending = asyncio.Event()

    def note(self, scope: Scope, response: Response) -> None:
        """Add a finished request, if it has a valid key and an operation."""
        caller: Caller = scope.get(CALLER, NOBODY)
        operation: Operation = scope[KEY]
        if not (self._is_on and operation.name and caller.account and caller.key):
            return
        if response.status is None or self._is_too_much(caller.account.id, response.status):
            return
        self._waiting.append(
            {
                "account": caller.account.id,
                "key_id": caller.key.id,
                "created_at": response.at,
                "operation": operation.name,
                "method": scope["method"],
                "route": operation.route,
                "params": scope["path_params"],
                "query": scope["query_string"],
                "status": response.status,
                "duration_ms": round((time.perf_counter() - response.began) * 1000),
                "request_id": response.request_id,
                "error_json": response.error,
            }
        )
        if self._writing is None:
            # Its log lines are not those of this request.
            self._writing = asyncio.create_task(self._write_soon(), context=contextvars.Context())

    def _is_too_much(self, account_id: str, status: int) -> bool:
        self._throttled[account_id] += status == THROTTLED
        is_too_much = len(self._waiting) >= MOST_WAITING or (
            status == THROTTLED and self._throttled[account_id] > MOST_THROTTLED
        )
        if is_too_much:
            REQUEST_LOG_DROPPED.inc()
        return is_too_much

    async def finish(self) -> None:
        """Flush the waiting entries before the process ends."""
        self._is_ending.set()
        if self._writing is not None:
            await self._writing

    async def _write_soon(self) -> None:
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_ending.wait(), PAUSE_SECONDS)
            await self._write()
        finally:
            self._writing = None

    async def _write(self) -> None:
        self._throttled.clear()
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                await commit(partial(ApiRequest.record, [without_text(entry) for entry in batch]))
            except (DatabaseError, OSError) as error:
                REQUEST_LOG_DROPPED.inc(len(batch))
                logger.warning("%d requests were not written to the log: %s", len(batch), error)
