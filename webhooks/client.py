"""The one door through which deliveries leave: a guarded HTTP client on an event loop.

One deadline covers the whole exchange, from the look-up of the name to the last byte read. Redirects
are not followed. Nothing is taken from the environment: no proxy, no netrc, no cookies.
"""

import asyncio
import ipaddress
import socket
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from webhooks.address import AddressRefusedError, refuse_unless_public

READ_LIMIT = 16 * 1024
KEPT_BYTES = 1024
SUCCESS = range(200, 300)


@dataclass(frozen=True)
class Answer:
    """What came back. ``status_code`` is None when no answer came; ``error`` is None after a 2xx."""

    status_code: int | None
    error: str | None
    body: str | None
    duration_ms: int

    @property
    def success(self) -> bool:
        """Whether the receiver answered 2xx within the time."""
        return self.error is None


class _GuardedResolver(AbstractResolver):
    """Resolves names, and hands over only addresses that may be called: what is checked is called."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        refuse_unless_public(host, [entry["host"] for entry in found])
        return found

    async def close(self) -> None:
        await self._inner.close()


class WebhookClient:
    """Sends POST requests to receivers. Use it as an async context manager, on one event loop."""

    def __init__(self, *, timeout: float, allow_local: bool, user_agent: str) -> None:
        self._timeout = timeout
        self._allow_local = allow_local
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        resolver = None if self._allow_local else _GuardedResolver()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=resolver, use_dns_cache=False),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
            # What is read is bounded as it comes over the wire; nothing is unpacked.
            auto_decompress=False,
            headers={
                "User-Agent": self._user_agent,
                "Content-Type": "application/json",
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

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> Answer:
        """Send one delivery. Never raises: whatever goes wrong is the answer's ``error``."""
        started = time.monotonic()
        status: int | None = None
        kept: str | None = None
        try:
            async with asyncio.timeout(self._timeout):
                status, kept = await self._exchange(url, body, headers)
            error = None if status in SUCCESS else f"The receiver answered {status}."
        except TimeoutError:
            error = f"No answer: timed out after {self._timeout:g} s."
        except Exception as exception:  # noqa: BLE001 - an attempt that raises must still be recorded
            error = f"No answer: {_reason(exception)}"
        return Answer(status, error, kept, round((time.monotonic() - started) * 1000))

    async def _exchange(self, url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        if self._session is None:
            raise RuntimeError("The client is not open.")
        # The URL goes out as it was registered: no re-quoting.
        target = URL(url, encoded=True)
        self._refuse_local_literal(target)
        async with self._session.post(
            target, data=body, headers=headers, allow_redirects=False
        ) as response:
            read = await _read_up_to(response, READ_LIMIT)
            return response.status, read[:KEPT_BYTES].decode("utf-8", "replace")

    def _refuse_local_literal(self, target: URL) -> None:
        """An address written as digits never reaches the resolver, so it is checked here."""
        host = target.host or ""
        try:
            literal = ipaddress.ip_address(host)
        except ValueError:
            return
        if not self._allow_local:
            refuse_unless_public(host, [str(literal)])


async def _read_up_to(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """At most ``limit`` bytes of the answer; one that is longer loses its connection."""
    parts = bytearray()
    while len(parts) < limit:
        chunk = await response.content.read(limit - len(parts))
        if not chunk:
            return bytes(parts)
        parts += chunk
    if not response.content.at_eof():
        response.close()
    return bytes(parts)


def _reason(exception: Exception) -> str:
    """A short reason for a person, without internals."""
    if isinstance(exception, AddressRefusedError):
        return str(exception)
    if isinstance(exception, aiohttp.ClientConnectorDNSError):
        return "the host name could not be resolved."
    if isinstance(exception, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return "the TLS certificate was not accepted."
    if isinstance(exception, aiohttp.ClientConnectorError):
        return "could not connect."
    if isinstance(exception, aiohttp.ClientError | OSError):
        return "the connection was lost."
    return f"unexpected error ({type(exception).__name__})."
