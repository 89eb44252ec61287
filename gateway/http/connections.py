"""What a client may take of a connection's time, so that the server stands without a proxy.

uvicorn itself bounds only how long a connection may be idle between two requests (timeout_keep_alive).
Each connection looks every two seconds whether its client keeps it waiting, which costs a request nothing.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.http.address_limit import AddressLimit, TooManyConnectionsError
from handlers.errors import ApiError

# How long a connection may be idle between two requests. nginx keeps one to an upstream for 60 s: were this
# shorter, a request could meet its end.
IDLE_SECONDS = 75
# A customer's pool of connections is rarely larger. Each process counts for itself.
CONNECTIONS_PER_ADDRESS = 200


@dataclass(frozen=True)
class Bounds:
    """How many seconds a client may take for what."""

    # The first byte of a new connection, and a whole head from its first byte on.
    head: float = 10
    # Between two pieces of a body.
    piece: float = 30
    # A whole body. A fifth of a megabyte a second is enough for the largest upload.
    body: float = 600
    # To take ``progress`` bytes of a response. A client slower than 1 KiB a second is cut off.
    unread: float = 30
    progress: int = 30 * 1024
    # A bound is noticed so much later at most.
    tick: float = 2


class Awaited(Enum):
    """What the client has to send next."""

    NOTHING = auto()
    REQUEST = auto()
    REST_OF_HEAD = auto()
    BODY = auto()


class _Parser(httptools.HttpRequestParser):
    """Where httptools stops behind the head of an offer, parses what ``head`` gives, and reads on."""

    def __init__(self, protocol: object, head: Callable[[], bytes | None]) -> None:
        self._protocol = protocol
        self._head = head
        self._begin()

    def _begin(self) -> None:
        """Forget what was parsed: behind a request that is the connection's last one, nothing else is."""
        super().__init__(self._protocol)
        # As uvicorn has it.
        self.set_dangerous_leniencies(lenient_data_after_close=True)

    def feed_data(self, data: Any) -> None:
        left = memoryview(data)
        while True:
            try:
                super().feed_data(left)
            except httptools.HttpParserUpgrade as stopped:
                head = self._head()
                if head is None:
                    raise
                self._begin()
                super().feed_data(head)
                left = left[stopped.args[0] :]
            else:
                return


class OffersIgnored(HttpToolsProtocol):
    """HTTP/1.1, whatever else a request offers (RFC 9110, section 7.8).

    Java's HTTP client offers h2c with its requests over http. httptools takes what follows the head of such
    a request for the other protocol's, so uvicorn drops the body (uvicorn #2722).
    """

    _has_offer = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = _Parser(self, self._head_without_offer)

    def on_headers_complete(self) -> None:
        """The request line and headers are in; with an offer they come once more, without it."""
        self._has_offer = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if not self._has_offer:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is in, or only its head, if that has an offer."""
        if not self._has_offer:
            super().on_message_complete()

    def _head_without_offer(self) -> bytes | None:
        """The head of the request that offers something, None for one that does not."""
        if not self._has_offer:
            return None
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join(lines) + b"\r\n\r\n"


class BoundedConnection(OffersIgnored):
    """HTTP/1.1 with bounds on the client's time, and on the connections of one address."""

    bounds = Bounds()
    address_limit = AddressLimit(CONNECTIONS_PER_ADDRESS)

    _counted: str | None = None
    _watch: asyncio.TimerHandle | None = None
    _awaited = Awaited.NOTHING
    # Times of the event loop: when what is awaited is late, and when the whole body is.
    _due = math.inf
    _body_due = math.inf
    # How many bytes the client had still to take when it last got on, and when it is late.
    _backlog: tuple[int, float] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connected."""
        super().connection_made(transport)
        client = self.client[0] if self.client else ""
        try:
            self._counted = self.address_limit.enter(client, self.config.forwarded_allow_ips)
        except TooManyConnectionsError:
            transport.abort()
            return
        self._wait(Awaited.REQUEST, self.bounds.head)
        self._watch = self.loop.call_later(self.bounds.tick, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection ended."""
        self.address_limit.leave(self._counted)
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came in."""
        super().data_received(data)
        # Empty lines before a request, or the end of a body that was answered early. uvicorn's own clock
        # is off once anything came.
        if self._awaited is Awaited.NOTHING and self._is_idle():
            self._wait(Awaited.REQUEST, self.bounds.head)

    def on_message_begin(self) -> None:
        """A new request begins."""
        super().on_message_begin()
        self._wait(Awaited.REST_OF_HEAD, self.bounds.head)

    def on_headers_complete(self) -> None:
        """The request line and headers are in."""
        super().on_headers_complete()
        self._body_due = self.loop.time() + self.bounds.body
        self._wait(Awaited.BODY, self.bounds.piece)

    def on_body(self, body: bytes) -> None:
        """A piece of a body came in."""
        super().on_body(body)
        self._due = min(self.loop.time() + self.bounds.piece, self._body_due)

    def on_message_complete(self) -> None:
        """The request is in."""
        super().on_message_complete()
        self._wait(Awaited.NOTHING, math.inf)

    def on_response_complete(self) -> None:
        """A response is out. The rest of a body that nobody wanted is thrown away, but not for ever."""
        super().on_response_complete()
        if self._awaited is Awaited.BODY:
            self._body_due = min(self._body_due, self.loop.time() + self.bounds.piece)
            self._due = min(self._due, self._body_due)

    def resume_writing(self) -> None:
        """The client took most of what it had still to take."""
        super().resume_writing()
        self._backlog = None

    def refuse(self, error: ApiError) -> None:
        """Answer a client that is late, and close the connection."""
        raise NotImplementedError

    def _wait(self, awaited: Awaited, seconds: float) -> None:
        self._awaited = awaited
        self._due = self.loop.time() + seconds

    def _is_idle(self) -> bool:
        # Before the first request there is none, whatever its annotation says.
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is None or cycle.response_complete

    def _look(self) -> None:
        """Cut a client off that does not read, and let one go that does not send."""
        now = self.loop.time()
        if self._is_unread(now):
            self.transport.abort()
            return
        if self.flow.read_paused or self.pipeline:
            # It is us who do not read on.
            self._due += self.bounds.tick
        elif now >= self._due and not self.transport.is_closing():
            self._give_up()
        self._watch = self.loop.call_later(self.bounds.tick, self._look)

    def _is_unread(self, now: float) -> bool:
        """Whether the client is late to take what is written. What is not all written has time."""
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
            self.refuse(ApiError(text, status=408))
        elif awaited is Awaited.BODY and not self.cycle.response_started:
            self.refuse(ApiError("The request's body came too slowly.", status=408))
        else:
            # There is no request to answer, or it has its answer.
            self.transport.close()
