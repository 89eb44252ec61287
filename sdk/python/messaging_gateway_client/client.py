"""The blocking client, from async_client.py."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from messaging_gateway_client import replies, retries
from messaging_gateway_client.errors import GatewayError, error_of
from messaging_gateway_client.events import Follower
from messaging_gateway_client.operations import Operations
from messaging_gateway_client.replies import Reply, file_name, items_of, next_query, unusable
from messaging_gateway_client.retries import Call, Request, base_url, first_headers, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator
    from os import PathLike

    import httpx

    from messaging_gateway_client import types


class Download:
    """A response in pieces. Use it in a ``with`` statement: iterate over it, ``read`` or ``save`` it."""

    def __init__(self, response: httpx.Response, ends_at: float) -> None:
        self._response = response
        self._ends_at = ends_at
        self.status = response.status_code
        self.headers = response.headers
        self.content_type: str = response.headers.get("Content-Type", "")

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()

    def __iter__(self) -> Iterator[bytes]:
        import httpx  # noqa: PLC0415 - see retries.py

        chunks = self._response.iter_bytes()
        try:
            while chunk := next(chunks, b""):
                if time.monotonic() > self._ends_at:
                    raise unusable("The rest of the response did not arrive in time.")
                yield chunk
        except httpx.RequestError as error:
            raise unusable(f"The response was cut: {error!r}.") from error

    @property
    def name(self) -> str | None:
        """The name of the file, without folders."""
        return file_name(self.headers.get("Content-Disposition", ""))

    def read(self, limit: float = math.inf) -> bytes:
        """The whole body. Raises NoResponseError if it has more bytes than ``limit``."""
        body = bytearray()
        for chunk in self:
            body += chunk
            if len(body) > limit:
                raise unusable("The response is too long.")
        return bytes(body)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file. An error leaves the file as it was."""
        part = Path(path).with_name(f"{Path(path).name}.part")
        try:
            with part.open("wb") as file:
                for chunk in self:
                    file.write(chunk)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


class Client(Operations):
    """The API at ``url``, such as ``https://gateway.example.com/api``, with an API key.

    ``timeout`` is the time in seconds that a call may take with all its ``attempts``.
    The time is checked when data arrives: a server that sends single bytes exceeds it.
    ``http`` replaces the HTTP client, for example to set a proxy or a certificate authority.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = retries.TIMEOUT,
        attempts: int = retries.ATTEMPTS,
        http: httpx.Client | None = None,
    ) -> None:
        import httpx  # noqa: PLC0415 - see retries.py

        self._url = base_url(url)
        self._timeout = timeout
        self._attempts = attempts
        self._headers = first_headers(key)
        self._http = http or httpx.Client()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def follow(
        self,
        place: str | PathLike[str] | Callable[[str], object] | None = None,
        *,
        after: str | None = None,
        since: str | None = None,
        event: Collection[types.EventKind] | None = None,
        number_id: str | None = None,
        patience: float = math.inf,
    ) -> Generator[types.EventRecord, None, None]:
        """Yield each event once, as it happens, without end.

        It begins at the ``place``, else after the cursor ``after``, else at the time ``since``, else with
        new events. ``place`` is a file that has the cursor, or a function that stores each cursor. The cursor
        of an event is stored when your loop asks for the next one. A lost connection is made again, until
        ``patience`` seconds bring none.
        """
        follower = Follower(place, after, since, {"event": event, "numberId": number_id}, patience)
        while True:
            try:
                with self._open(follower.request(), attempts=1) as stream:
                    follower.connected(stream.content_type)
                    for chunk in stream:
                        for record in follower.feed(chunk):
                            yield record
                raise unusable("The gateway ended it.")
            except GatewayError as error:
                pause = follower.pause_after(error)
            self._sleep(pause)

    def _json(self, request: Request) -> Any:
        return self._reply(request, is_json=True).json()

    def _nothing(self, request: Request) -> None:
        self._reply(request, is_json=False)

    def _items(self, request: Request) -> Iterator[Any]:
        query: dict[str, Any] | None = dict(request.query)
        while query is not None:
            page = self._json(request._replace(query=query))
            for item in items_of(page):
                yield item
            query = next_query(page, query)

    def _reply(self, request: Request, *, is_json: bool) -> Reply:
        call = Call(request, self._timeout, self._attempts)
        while True:
            try:
                with opened(request.file) as form:
                    with self._send(call, call.attempt_seconds(), form) as response:
                        body = response.read(replies.MAX_BODY)
                return Reply(response.status, response.headers, body).checked(is_json=is_json)
            except GatewayError as error:
                pause = call.pause_after(error)
            self._sleep(pause)

    def _open(self, request: Request, attempts: int | None = None) -> Download:
        call = Call(request, self._timeout, attempts or self._attempts)
        while True:
            try:
                response = self._send(call, call.remaining(), None)
                if response.status in range(200, 300):
                    return response
                with response:
                    body = response.read(replies.MAX_BODY)
                raise error_of(response.status, response.headers, body)
            except GatewayError as error:
                pause = call.pause_after(error)
            self._sleep(pause)

    def _send(self, call: Call, seconds: float, form: dict[str, Any] | None) -> Download:
        """A response whose body is not read yet. Raises NoResponseError."""
        import httpx  # noqa: PLC0415 - see retries.py

        end = time.monotonic() + seconds
        arguments = call.arguments(self._url, self._headers, seconds)
        sent = self._http.build_request(files=form, **arguments)
        try:
            response = self._http.send(sent, stream=True, follow_redirects=False)
        except httpx.RequestError as error:
            raise call.lost(error) from error
        return Download(response, end)

    def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)
