"""The HTTP client that sends deliveries on an event loop. It calls only allowed addresses.

One deadline covers the whole exchange, from the look-up of the name to the last byte. Only the check whether
the request is still wanted does not count, because it waits for the database and not for the receiver. The
client follows no redirects, has no cookies, and ignores the environment: no proxy, no netrc.
"""

import asyncio
import functools
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver, AbstractStreamWriter, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.payload import BytesPayload
from aiohttp.tracing import Trace
from yarl import URL

from webhooks.address import AddressRefusedError, look_up, refuse_by_sight
from webhooks.resolver import Resolver
from webhooks.response_body import READ_LIMIT, Excerpt

CONTENT_TYPE = "application/json"
SUCCESS = range(200, 300)
# Far more than the client reads of a response, because bytes come in pieces of up to 256 KiB.
MAX_RECEIVED = 512 * 1024
# Common servers close idle connections after 5 s. A request at that moment would be a failed attempt.
KEEP_IDLE_SECONDS = 4.0


@dataclass(frozen=True)
class Answer:
    """The result of one POST. ``status_code`` is None without a response, ``error`` is None after a 2xx."""

    status_code: int | None
    error: str | None
    body: str | None
    duration_ms: int
    # Whether the deadline ended the exchange. Such a receiver occupies its place for the whole time.
    timed_out: bool = False

    @property
    def success(self) -> bool:
        """Whether the receiver responded with 2xx in time."""
        return self.error is None


class WithdrawnError(Exception):
    """The request is no longer wanted. No byte of it was sent."""


MayStart = Callable[[], Awaitable[bool]]


class _Deadline:
    """The deadline of an exchange, and the time that it has taken. Both stop while it is paused."""

    def __init__(self, seconds: float) -> None:
        self._started = time.monotonic()
        self.timeout = asyncio.timeout(seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        paused_at, end = time.monotonic(), self.timeout.when()
        self.timeout.reschedule(None)
        try:
            yield
        finally:
            pause = time.monotonic() - paused_at
            self._started += pause
            # Refused if the exchange ended meanwhile, because the receiver closed the connection.
            with suppress(RuntimeError):
                self.timeout.reschedule(None if end is None else end + pause)

    @property
    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


class _Body(BytesPayload):
    """Checks that the request is still wanted right before its first byte is sent."""

    def __init__(self, body: bytes, may_start: MayStart | None, deadline: _Deadline) -> None:
        super().__init__(body, content_type=CONTENT_TYPE)
        self._may_start = may_start
        self._deadline = deadline
        self.is_withdrawn = False

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        """Send the headers, which aiohttp holds until then, and the body. Raises WithdrawnError."""
        if self._may_start is not None:
            with self._deadline.paused():
                self.is_withdrawn = not await self._may_start()
        if self.is_withdrawn:
            raise WithdrawnError
        await super().write_with_length(writer, content_length)


class _GuardedResolver(AbstractResolver):
    """Resolves names to allowed addresses. The client calls exactly the checked address."""

    def __init__(self, names: Resolver, *, allow_local: bool) -> None:
        self._names = names
        self._allow_local = allow_local

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of ``host``. Raises AddressRefusedError."""
        found = await look_up(self._names, host, family, allow_local=self._allow_local)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in found
        ]

    async def close(self) -> None:
        """Cancel running look-ups."""
        await self._names.close()


class _Bounded(asyncio.Protocol):
    """Closes the connection of a receiver that sends more than MAX_RECEIVED bytes for one request.

    Blank lines, responses like "102 Processing" and chunk extensions can be endless. aiohttp reads all of
    them, which would keep the loop busy until the deadline.
    """

    def __init__(self, transport: asyncio.Transport, reader: ResponseHandler) -> None:
        self._transport = transport
        self._reader = reader
        self._received = 0

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received > MAX_RECEIVED:
            self._transport.abort()
        else:
            self._reader.data_received(data)

    def eof_received(self) -> None:
        self._reader.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.connection_lost(exc)

    def pause_writing(self) -> None:
        self._reader.pause_writing()

    def resume_writing(self) -> None:
        self._reader.resume_writing()


class _Connector(aiohttp.TCPConnector):
    """Limits the received bytes of each connection, and gives each request a connection without old data."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - the signature is aiohttp's
    ) -> Connection:
        """A new or idle connection for one request."""
        connection = await super().connect(req, traces, timeout)
        while connection.protocol is not None and connection.protocol.should_close:
            # Bytes came without a request. They would count as the response to this one.
            connection.close()
            connection = await super().connect(req, traces, timeout)
        transport, reader = connection.transport, connection.protocol
        if transport is not None and reader is not None:
            transport.set_protocol(_Bounded(transport, reader))
        return connection


@functools.cache
def _system_trust() -> ssl.SSLContext:
    """A TLS context with the system's certificate authorities.

    Not from ssl.create_default_context, which would write session keys to the file in SSLKEYLOGFILE.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_default_certs()
    return context


class WebhookClient:
    """Sends POST requests to receivers. Use it as an async context manager, on one event loop.

    ``ssl_context`` and ``nameservers`` are for tests with their own CA and name server.
    """

    def __init__(
        self,
        *,
        timeout: float,
        allow_local: bool,
        user_agent: str,
        ssl_context: ssl.SSLContext | None = None,
        nameservers: Sequence[str] | None = None,
    ) -> None:
        self._timeout = timeout
        self._allow_local = allow_local
        self._user_agent = user_agent
        self._ssl_context = ssl_context
        self._nameservers = nameservers
        self._session: aiohttp.ClientSession | None = None
        self._resolver: _GuardedResolver | None = None

    async def __aenter__(self) -> Self:
        names = Resolver(self._nameservers)
        self._resolver = _GuardedResolver(names, allow_local=self._allow_local)
        self._session = aiohttp.ClientSession(
            connector=_Connector(
                limit=0,
                resolver=self._resolver,
                use_dns_cache=False,
                ssl=self._ssl_context or _system_trust(),
                keepalive_timeout=KEEP_IDLE_SECONDS,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
            # The connection limits the compressed bytes. Excerpt limits the decompressed ones.
            auto_decompress=False,
            read_bufsize=READ_LIMIT,
            headers={
                "User-Agent": self._user_agent,
                "Content-Type": CONTENT_TYPE,
                "Accept-Encoding": "identity",
            },
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:
            await self._resolver.close()

    async def post(
        self, url: str, body: bytes, headers: dict[str, str], may_start: MayStart | None = None
    ) -> Answer:
        """Send one delivery. Every failure becomes the ``error`` of the result.

        ``may_start`` is called before the first byte is sent. If it returns False, raises WithdrawnError.
        """
        deadline = _Deadline(self._timeout)
        payload = _Body(body, may_start, deadline)
        status: int | None = None
        kept: str | None = None
        timed_out = False
        try:
            async with deadline.timeout:
                status, kept = await self._exchange(url, payload, headers)
            error = None if status in SUCCESS else f"The receiver returned {status}."
        except TimeoutError:
            timed_out = True
            error = f"No response: timed out after {self._timeout:g} s."
        except Exception as exception:  # noqa: BLE001 - an attempt that raises must still be recorded
            if payload.is_withdrawn:
                raise WithdrawnError from None
            error = f"No response: {_reason(exception)}"
        return Answer(status, error, kept, deadline.elapsed_ms, timed_out)

    async def _exchange(self, url: str, body: _Body, headers: dict[str, str]) -> tuple[int, str]:
        if self._session is None:
            raise RuntimeError("The client is not open.")
        # The URL is sent as it was registered, without re-quoting.
        target = URL(url, encoded=True)
        if target.user is not None or target.password is not None:
            raise AddressRefusedError("The url must not contain credentials.")
        # An IP address as host never reaches the resolver.
        refuse_by_sight(target, allow_local=self._allow_local)
        async with self._session.post(
            target, data=body, headers=headers, allow_redirects=False
        ) as response:
            return response.status, await _read_excerpt(response)


async def _read_excerpt(response: aiohttp.ClientResponse) -> str:
    """The beginning of the response body. The connection of a longer or incomplete response is closed."""
    excerpt = Excerpt(response.headers.get("Content-Encoding", ""))
    # The status alone says whether the receiver has the event, so an incomplete body is no failure.
    with suppress(aiohttp.ClientError, OSError):
        while excerpt.room and (chunk := await response.content.read(excerpt.room)):
            excerpt.add(chunk)
    return excerpt.text()


# Short reasons for people, without internals. The first match counts. A closed port and one without TLS have
# the same reason, because firewalls trust this machine and customers must not scan ports with it.
REASONS: list[tuple[type[Exception], str]] = [
    (aiohttp.InvalidURL, "the url cannot be called."),
    (aiohttp.ClientConnectorCertificateError, "the TLS certificate was not accepted."),
    (aiohttp.ClientConnectorError, "could not connect."),
    (aiohttp.ClientError, "the connection was lost."),
    (OSError, "the connection was lost."),
]


def _reason(exception: Exception) -> str:
    if isinstance(exception, AddressRefusedError):
        return str(exception)
    for kind, reason in REASONS:
        if isinstance(exception, kind):
            return reason
    return f"unexpected error ({type(exception).__name__})."
