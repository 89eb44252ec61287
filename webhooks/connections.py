"""Connections to receivers: each carries one request at a time, and the idle ones are kept for a while."""

import asyncio
import resource
from collections import defaultdict
from collections.abc import Callable
from typing import cast

from webhooks.address import Origin
from webhooks.response import NotHttpError, Response

# Far more than the client reads of a response, because bytes come in pieces of up to 256 KiB. Blank lines,
# responses like "102 Processing" and chunk extensions can be endless.
MAX_RECEIVED = 512 * 1024
# Common servers close idle connections after 5 s. A request at that moment needs a second connection.
KEEP_IDLE_SECONDS = 4.0
# The pause between two searches for connections that were idle for too long.
TIDY_SECONDS = 1.0
# For the database, files, name servers, connections that are being closed, and second addresses of a name.
RESERVED = 128
# All attempts of a worker, and as many idle connections again.
MOST_OPEN = 1200


class LostError(ConnectionError):
    """The connection ended before the response had a status. ``had_begun`` if some of it had arrived."""

    def __init__(self, *, had_begun: bool) -> None:
        super().__init__("The connection ended.")
        self.had_begun = had_begun


class Connection(asyncio.Protocol):
    """One connection to a receiver."""

    def __init__(self, on_end: Callable[["Connection"], None]) -> None:
        self.idle_until = 0.0
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        # Done at the status, and again at the end of the response.
        self._progress: asyncio.Future[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def send(self, request: bytes, response: Response) -> None:
        """Send a request. Returns when ``response`` has a status. Raises LostError or NotHttpError."""
        if self._transport is None or self._transport.is_closing():
            raise LostError(had_begun=False)
        self._response = response
        self._transport.write(request)
        await self._wait()

    async def finish(self) -> None:
        """Wait for the end of the response, as far as it is read."""
        while self._response is not None and not self._response.is_complete:
            await self._wait()

    async def _wait(self) -> None:
        self._progress = asyncio.get_running_loop().create_future()
        try:
            await self._progress
        finally:
            self._progress = None

    def release(self) -> float:
        """End the exchange. Returns for how many seconds the connection may be kept for another one."""
        response, self._response = self._response, None
        if not self.is_open or response is None or not response.is_reusable:
            return 0
        announced = response.kept_seconds
        return KEEP_IDLE_SECONDS if announced is None else min(announced, KEEP_IDLE_SECONDS)

    def abort(self) -> None:
        """Close at once, without waiting for the receiver."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None:
            # Bytes without a request. They would count as the response to the next one.
            self.abort()
            return
        try:
            response.feed(data)
        except NotHttpError as error:
            self.abort()
            self._go_on(error)
            return
        if response.received > MAX_RECEIVED and not response.is_complete:
            self.abort()
            self._end()
        elif response.status is not None:
            self._go_on()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, _: Exception | None) -> None:
        self._end()
        self._transport = None
        self._on_end(self)

    def _end(self) -> None:
        if (response := self._response) is None:
            return
        response.end()
        lost = LostError(had_begun=response.received > 0)
        self._go_on(None if response.is_complete else lost)

    def _go_on(self, error: Exception | None = None) -> None:
        if self._progress is None or self._progress.done():
            return
        if error is not None:
            self._progress.set_exception(error)
        else:
            self._progress.set_result(None)


def most_connections() -> int:
    """How many connections to receivers this process may have open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_OPEN
    return min(MOST_OPEN, limit - min(RESERVED, limit // 2))


class Pool:
    """The open connections, at most about ``most``: for a new one, the one that is idle longest is closed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Connection] = set()
        # In the order of their release, and by origin.
        self._idle: dict[Connection, Origin] = {}
        self._by_origin: defaultdict[Origin, list[Connection]] = defaultdict(list)
        self._tidying: asyncio.TimerHandle | None = None

    def get_idle(self, origin: Origin) -> Connection | None:
        """The idle connection that was used last."""
        now = asyncio.get_running_loop().time()
        while connections := self._by_origin.get(origin):
            connection = connections[-1]
            self._forget(connection)
            if connection.is_open and connection.idle_until > now:
                return connection
            self.discard(connection)
        return None

    def new(self) -> Connection:
        """A connection that is not open yet, and room for it."""
        while len(self._open) >= self._most and self._idle:
            self.discard(next(iter(self._idle)))
        connection = Connection(self._discard)
        self._open.add(connection)
        return connection

    def give_back(self, connection: Connection, origin: Origin) -> None:
        """Keep a connection after an exchange if it can be used again."""
        if not (kept := connection.release()):
            self.discard(connection)
            return
        loop = asyncio.get_running_loop()
        connection.idle_until = loop.time() + kept
        self._idle[connection] = origin
        self._by_origin[origin].append(connection)
        if self._tidying is None:
            self._tidying = loop.call_later(TIDY_SECONDS, self._tidy)

    def discard(self, connection: Connection) -> None:
        """Close a connection."""
        connection.abort()
        self._discard(connection)

    def close(self) -> None:
        """Close all connections, also those in use."""
        if self._tidying is not None:
            self._tidying.cancel()
        for connection in list(self._open):
            connection.abort()

    def _discard(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        """Remove a connection from the idle ones."""
        origin = self._idle.pop(connection)
        connections = self._by_origin[origin]
        connections.remove(connection)
        if not connections:
            del self._by_origin[origin]

    def _tidy(self) -> None:
        """Close connections that were idle for too long."""
        loop = asyncio.get_running_loop()
        for connection in [each for each in self._idle if each.idle_until <= loop.time()]:
            self.discard(connection)
        self._tidying = loop.call_later(TIDY_SECONDS, self._tidy) if self._idle else None
