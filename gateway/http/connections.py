"""One connection: uvicorn's HTTP/1.1 with limits for heads, for the client's time, and for connections.

So the server needs no proxy. uvicorn itself limits only how long a connection may be idle between two
requests (timeout_keep_alive). Each connection checks every two seconds whether its client is late, which
costs a request nothing. Requests that reach no application get an error in our format.
"""

import asyncio
import http
import logging
import math
from contextvars import Context
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, cast

import httptools
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.api.operations import KEY, UNKNOWN_PAGE, Operation
from gateway.http.access_log import FILES, GUARDS, HEADER, PREFIX
from gateway.http.admission import NOBODY
from gateway.http.client_limits import AddressLimit, notice_vanished
from gateway.http.exception_handlers import ApiError, response_to
from models import clock
from services.streams import streams

logger = logging.getLogger(__name__)

MAX_HEADER_BYTES = 32 * 1024
TOO_LARGE = f"The request line and headers are larger than {MAX_HEADER_BYTES} bytes."
# A customer's pool of connections is rarely larger. Each process counts for itself.
CONNECTIONS_PER_ADDRESS = 200
# How a socket for both families shows the address of an IPv4 client.
IPV4_MAPPED = "::ffff:"
# The key of the edge in the server's state. The application sets it at its start.
EDGE = "edge"


@dataclass(frozen=True)
class Bounds:
    """Time limits of a client, in seconds."""

    # The first byte of a new connection, and a whole head from its first byte on.
    head: float = 10
    # Between two pieces of a body.
    piece: float = 30
    # A whole body. A fifth of a megabyte a second is enough for the largest upload.
    body: float = 600
    # To take ``progress`` bytes of a response. A client slower than 1 KiB a second is cut off.
    unread: float = 30
    progress: int = 30 * 1024
    # To confirm bytes that were sent. With the comment that a stream sends every 15 seconds, a client that
    # vanished is noticed within a minute.
    unconfirmed: float = 30
    # Between two checks, and so the longest delay before a late client is noticed.
    tick: float = 2


class Awaited(Enum):
    """The part that the client has to send next."""

    NOTHING = auto()
    REQUEST = auto()
    REST_OF_HEAD = auto()
    BODY = auto()


class _Parser(httptools.HttpRequestParser):
    """Parses a request that offers another protocol as one of HTTP/1.1 (RFC 9110, section 7.8).

    Java's HTTP client offers h2c with its requests over http. httptools stops behind the head of such a
    request, and uvicorn then drops the body (uvicorn #2722). This parser starts again with the same head
    without the offer, and reads on.
    """

    def __init__(self, protocol: "GatewayProtocol") -> None:
        self._protocol = protocol
        self._start()

    def _start(self) -> None:
        """Forget what was parsed."""
        super().__init__(self._protocol)
        # The same type as uvicorn's.
        self.set_dangerous_leniencies(lenient_data_after_close=True)

    def feed_data(self, data: Any) -> None:
        left = memoryview(data)
        while True:
            try:
                super().feed_data(left)
            except httptools.HttpParserUpgrade as stopped:
                if not self._protocol.has_offer:
                    raise
                head = self._protocol.head_without_offer()
                self._start()
                super().feed_data(head)
                left = left[stopped.args[0] :]
            else:
                return


class GatewayProtocol(HttpToolsProtocol):
    """HTTP/1.1 for clients that may be slow, greedy or broken."""

    bounds = Bounds()
    address_limit = AddressLimit(CONNECTIONS_PER_ADDRESS)
    # Whether the request offers another protocol. Then its head comes a second time, without the offer.
    has_offer = False

    # The address under which ``address_limit`` counts the connection, if any.
    _counted: str | None = None
    _watch: asyncio.TimerHandle | None = None
    _awaited = Awaited.NOTHING
    # Deadlines of the awaited part and of the whole body, in the event loop's time.
    _due = math.inf
    _body_due = math.inf
    # How many bytes the client had yet to receive at its last progress, and its deadline.
    _backlog: tuple[int, float] | None = None
    # The bytes of a head that came after its first segment.
    _more_head = 0
    # The error that ends the connection. It is sent after a response in progress.
    _refusal: ApiError | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = _Parser(self)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        notice_vanished(transport.get_extra_info("socket"), self.bounds.unconfirmed)
        client = self.client[0] if self.client else ""
        if self.client and client.startswith(IPV4_MAPPED):
            # An IPv4 client of a socket for both families. Trusted proxies are listed by their IPv4 address.
            client = client.removeprefix(IPV4_MAPPED)
            self.client = client, self.client[1]
        # A proxy brings the connections of many clients, and limits them itself.
        if client not in cast("ProxyHeadersMiddleware", self.app).trusted_hosts:
            try:
                self._counted = self.address_limit.enter(client)
            except ConnectionRefusedError:
                transport.abort()
                return
        self._wait(Awaited.REQUEST, self.bounds.head)
        self._watch = self.loop.call_later(self.bounds.tick, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        self.address_limit.leave(self._counted)
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return
        self._more_head += len(data)
        super().data_received(data)
        if self._awaited is Awaited.REST_OF_HEAD:
            # The parser reports only complete headers, so one that never ends is counted here.
            if (self._more_head or self._head_size()) > MAX_HEADER_BYTES:
                self.refuse(TOO_LARGE, 431)
        elif self._awaited is Awaited.NOTHING and self._is_idle():
            # Empty lines before a request, or the end of a body after an early response. uvicorn's own timer
            # stops at the first byte.
            self._wait(Awaited.REQUEST, self.bounds.head)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._more_head = 0
        self._wait(Awaited.REST_OF_HEAD, self.bounds.head)

    def on_headers_complete(self) -> None:
        if self._head_size() > MAX_HEADER_BYTES:
            self.refuse(TOO_LARGE, 431)
        if self._refusal is not None or self._is_malformed():
            raise httptools.HttpParserError
        self.has_offer = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self.has_offer:
            return
        super().on_headers_complete()
        self._body_due = self.loop.time() + self.bounds.body
        self._wait(Awaited.BODY, self.bounds.piece)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._due = min(self.loop.time() + self.bounds.piece, self._body_due)

    def on_message_complete(self) -> None:
        """The request is in, or only its head, if that has an offer."""
        if not self.has_offer:
            super().on_message_complete()
            self._wait(Awaited.NOTHING, math.inf)

    def on_response_complete(self) -> None:
        """A response was sent. The rest of an unread body has little time."""
        # uvicorn's timer of an idle connection would keep the context of the request, and with it the body.
        Context().run(super().on_response_complete)
        if self._awaited is Awaited.BODY:
            self._body_due = min(self._body_due, self.loop.time() + self.bounds.piece)
            self._due = min(self._due, self._body_due)
        if self._refusal is not None and not self.pipeline and not self.transport.is_closing():
            self._send_error(self._refusal)

    def resume_writing(self) -> None:
        """The client received most of the waiting bytes."""
        super().resume_writing()
        self._backlog = None

    def shutdown(self) -> None:
        """The server stops. End streams now, and close the connection of a client that does not read."""
        super().shutdown()
        if self._is_idle():
            return
        operation: Operation = cast("Any", self.cycle.scope).get(KEY, UNKNOWN_PAGE)
        if operation.stream:
            streams.stop()
            if self.flow.write_paused:
                self.transport.abort()

    def head_without_offer(self) -> bytes:
        """The head of the request without its header Upgrade."""
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def send_400_response(self, msg: str) -> None:
        """Respond to a request that the parser refused, and close the connection."""
        self.refuse(msg, 400)

    def refuse(self, message: str, status: int) -> None:
        """Respond with an error, after a request in progress, and close the connection."""
        if self._refusal is not None:
            return
        self._refusal = ApiError(message, status=status)
        if self._is_idle() or self.cycle.more_body:
            self._send_error(self._refusal)

    def _is_malformed(self) -> bool:
        """Whether a head is one that the parser accepts and a server must not (RFC 9112, 2.3, 3.2, 6.1)."""
        hosts = sum(name == b"host" for name, _ in self.headers)
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        is_good = (self.parser.get_http_version(), hosts) in {("1.1", 1), ("1.0", 1), ("1.0", 0)}
        return not is_good or codings not in ([], [b"chunked"])

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _send_error(self, error: ApiError) -> None:
        request_id, response = clock.new_id(PREFIX), response_to(error, "")
        status = http.HTTPStatus(error.status)
        response.headers.update({"Connection": "close", HEADER: request_id})
        headers = [*response.raw_headers, *GUARDS, FILES[b"application/json"]]
        if EDGE in self.app_state:
            counted = NOBODY.counted(self.client)
            headers += self.app_state[EDGE].limiter.count_here(*counted).headers
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode())]
        lines += [b"%s: %s" % header for header in headers]
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + response.body)
        self.transport.close()
        fields = {"request_id": request_id, "status": error.status, "bytes": len(response.body)}
        logger.info("malformed request", extra={"fields": fields})

    def _wait(self, awaited: Awaited, seconds: float) -> None:
        self._awaited = awaited
        self._due = self.loop.time() + seconds

    def _is_idle(self) -> bool:
        # None before the first request, against its annotation in uvicorn.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete

    def _check(self) -> None:
        """Cut off a client that does not read, and close the connection of one that does not send."""
        now = self.loop.time()
        if self._is_unread(now):
            self.transport.abort()
            return
        if self.flow.read_paused or self.pipeline:
            # The server has paused reading.
            self._due += self.bounds.tick
        elif now >= self._due and not self.transport.is_closing():
            self._give_up()
        self._watch = self.loop.call_later(self.bounds.tick, self._check)

    def _is_unread(self, now: float) -> bool:
        """Whether the client reads too slowly. A response that is still being written has time."""
        left = self.transport.get_write_buffer_size()
        is_all = self.flow.write_paused or self._is_idle() or self.transport.is_closing()
        if not (left and is_all):
            self._backlog = None
        elif self._backlog is None or left <= self._backlog[0] - self.bounds.progress:
            self._backlog = left, now + self.bounds.unread
        return self._backlog is not None and now >= self._backlog[1]

    def _give_up(self) -> None:
        awaited, self._due = self._awaited, math.inf
        if awaited is Awaited.REST_OF_HEAD:
            text = f"The request's head was not complete within {self.bounds.head:g} seconds."
            self.refuse(text, 408)
        elif awaited is Awaited.BODY and not self.cycle.response_started:
            self.refuse("The request's body came too slowly.", 408)
        else:
            # There is no request without a response.
            self.transport.close()
