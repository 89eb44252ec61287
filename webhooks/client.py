"""The HTTP client that sends deliveries on an event loop. It calls only allowed addresses.

One deadline covers the whole exchange, from the look-up of the name to the status. Only the check whether
the request is still wanted does not count, because it waits for the database and not for the receiver. The
client follows no redirects, has no cookies, and ignores the environment: no proxy, no netrc.
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Self

from webhooks.address import Origin, Target, parse_target
from webhooks.connecting import Connector
from webhooks.connections import Connection, LostError, Pool, most_connections
from webhooks.faults import MachineError, cause_of
from webhooks.reasons import NO_RESPONSE, reason_of
from webhooks.response import Response

CONTENT_TYPE = "application/json"
SUCCESS = range(200, 300)
# The longest wait for the body after the status. It is only shown to people.
BODY_SECONDS = 1.0


@dataclass(frozen=True)
class Answer:
    """The result of one POST. ``status_code`` is None without a response, ``error`` is None after a 2xx."""

    status_code: int | None
    error: str | None
    body: str | None
    duration_ms: int
    # Whether the deadline ended the exchange. Such a receiver occupies its place for the whole time.
    timed_out: bool = False
    # The header Retry-After.
    retry_after: str = ""

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

    def shorten(self, seconds: float) -> None:
        """End the exchange in ``seconds`` at the latest."""
        end = self.timeout.when()
        soon = asyncio.get_running_loop().time() + seconds
        self.timeout.reschedule(soon if end is None else min(end, soon))

    @property
    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


class _Exchange:
    """One delivery: its deadline, and the response as far as it came."""

    def __init__(self, seconds: float, may_start: MayStart | None) -> None:
        self.deadline = _Deadline(seconds)
        self.response = Response()
        # Whether the exchange waits for name servers.
        self.is_looking_up = False
        self._may_start = may_start

    async def check_wanted(self) -> None:
        """Check once, before the first byte, that the request is still wanted. Raises WithdrawnError."""
        may_start, self._may_start = self._may_start, None
        if may_start is not None:
            with self.deadline.paused():
                is_wanted = await may_start()
            if not is_wanted:
                raise WithdrawnError

    def answer(self, error: str, *, timed_out: bool = False) -> Answer:
        """The result. The status alone says whether the receiver has the event, so ``error`` needs none."""
        status, elapsed_ms = self.response.status, self.deadline.elapsed_ms
        if status is None:
            return Answer(None, f"{NO_RESPONSE}{error}", None, elapsed_ms, timed_out)
        refusal = None if status in SUCCESS else f"The receiver returned {status}."
        text, after = self.response.text(), self.response.retry_after
        return Answer(status, refusal, text, elapsed_ms, retry_after=after)


class WebhookClient:
    """Sends POST requests to receivers. Use it as an async context manager, on one event loop.

    At most about ``most_open`` connections are open, by default as many as the limit of descriptors allows.
    ``ssl_context`` and ``nameservers`` are for tests with their own CA and name server.
    """

    def __init__(
        self,
        *,
        timeout: float,
        allow_local: bool,
        user_agent: str,
        most_open: int | None = None,
        ssl_context: ssl.SSLContext | None = None,
        nameservers: Sequence[str] | None = None,
    ) -> None:
        self._timeout = timeout
        self._allow_local = allow_local
        self._fixed = (
            f"User-Agent: {user_agent}\r\nContent-Type: {CONTENT_TYPE}\r\n"
            "Accept: */*\r\nAccept-Encoding: identity\r\n"
        )
        self.most_open = most_open or most_connections()
        self._pool = Pool(self.most_open)
        self._make_connector = partial(
            Connector, allow_local=allow_local, ssl_context=ssl_context, nameservers=nameservers
        )

    async def __aenter__(self) -> Self:
        self._connector = self._make_connector()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._pool.close()
        await self._connector.close()

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], may_start: MayStart | None = None
    ) -> Answer:
        """Send one delivery. Every failure of the receiver becomes the ``error`` of the result.

        ``may_start`` is called before the first byte is sent. If it returns False, raises WithdrawnError.
        Raises MachineError if something is missing on this machine.
        """
        exchange = _Exchange(self._timeout, may_start)
        try:
            async with exchange.deadline.timeout:
                await self._send(url, body, headers, exchange)
        except WithdrawnError:
            raise
        except Exception as error:  # noqa: BLE001 - an attempt that raises must still be recorded
            if not exchange.deadline.timeout.expired():
                return self._failure(exchange, error)
            answer = exchange.answer(f"timed out after {self._timeout:g} s.", timed_out=True)
            if exchange.is_looking_up:
                await self._connector.check_names()
            elif answer.status_code is None:
                # The route may have gone after the connection was made.
                self._connector.check_route()
            return answer
        return exchange.answer("")

    def _failure(self, exchange: _Exchange, error: Exception) -> Answer:
        """The result after an error. Raises MachineError."""
        if (cause := cause_of(error)) is not None:
            raise MachineError(cause) from error
        if isinstance(error, ssl.SSLCertVerificationError):
            self._connector.check_trust(error)
        return exchange.answer(reason_of(error))

    async def _send(
        self, url: str, body: bytes, headers: Mapping[str, str], exchange: _Exchange
    ) -> None:
        """One exchange. It is repeated once, on a new connection, if the receiver had closed a kept one."""
        target = parse_target(url, allow_local=self._allow_local)
        request = self._request(target, body, headers)
        if (kept := self._pool.get_idle(target.origin)) is not None:
            try:
                return await self._run(kept, target.origin, request, exchange)
            except LostError as error:
                # Otherwise the receiver closed it before it read the request, which is no failure.
                if error.had_begun:
                    raise
        made = await self._connect(target.origin, exchange)
        return await self._run(made, target.origin, request, exchange)

    async def _run(
        self, connection: Connection, origin: Origin, request: bytes, exchange: _Exchange
    ) -> None:
        response = exchange.response
        try:
            await exchange.check_wanted()
            await connection.send(request, response)
            if not response.is_complete:
                exchange.deadline.shorten(BODY_SECONDS)
                await connection.finish()
        except BaseException:
            self._pool.discard(connection)
            raise
        self._pool.give_back(connection, origin)

    async def _connect(self, origin: Origin, exchange: _Exchange) -> Connection:
        connection = self._pool.new()
        try:
            exchange.is_looking_up = True
            addresses = await self._connector.look_up(origin)
            exchange.is_looking_up = False
            await self._connector.open(addresses, origin, connection)
        except BaseException:
            self._pool.discard(connection)
            raise
        return connection

    def _request(self, target: Target, body: bytes, headers: Mapping[str, str]) -> bytes:
        given = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = (
            f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\n{self._fixed}{given}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body
