"""HTTP as bytes, for requests that no HTTP library would send, over persistent connections."""

import contextlib
import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

SECONDS = 10
Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class Request:
    """A request that tests alter. ``encode`` adds the length of the body unless one is given."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes = b""
    version: bytes = b"HTTP/1.1"

    def with_header(self, name: bytes, value: bytes) -> Self:
        """With another header, even if there is already one with this name."""
        return replace(self, headers=(*self.headers, (name, value)))

    def without_header(self, name: bytes) -> Self:
        """Without the headers of this name."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=kept)

    def with_only(self, name: bytes, *values: bytes) -> Self:
        """With these values of a header instead of its present ones."""
        kept = self.without_header(name)
        return replace(kept, headers=(*kept.headers, *((name, value) for value in values)))

    def with_query(self, query: bytes) -> Self:
        """With a query string."""
        return replace(self, target=self.target.partition(b"?")[0] + b"?" + query)

    def with_body(self, body: bytes) -> Self:
        """With another body."""
        return replace(self, body=body)

    def encode(self) -> bytes:
        """The bytes to send."""
        names = {name.lower() for name, _ in self.headers}
        headers = list(self.headers)
        if self.body and not names & {b"content-length", b"transfer-encoding"}:
            headers.append((b"Content-Length", b"%d" % len(self.body)))
        lines = [b" ".join([self.method, self.target, self.version])]
        lines += [name + b": " + value for name, value in headers]
        return b"\r\n".join(lines) + b"\r\n\r\n" + self.body


@dataclass(frozen=True)
class Answer:
    """A response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


class Wire:
    """A connection to a local port, reopened when the server has closed it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def exchange(self, raw: bytes, method: bytes = b"GET") -> Answer | None:
        """Send bytes and read one response, or None if the server closes the connection without one."""
        is_kept = self._socket is not None
        answer = self._try(raw, method)
        # The server may have closed a reused connection before these bytes came.
        return self._try(raw, method) if answer is None and is_kept else answer

    def exchange_alone(self, raw: bytes, method: bytes = b"GET", *, eof: bool) -> Answer | None:
        """The same on a separate connection. With ``eof`` nothing follows ``raw``."""
        self.close()
        try:
            return self._try(raw, method, eof=eof)
        finally:
            self.close()

    def close(self) -> None:
        """Close the persistent connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _try(self, raw: bytes, method: bytes, *, eof: bool = False) -> Answer | None:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=SECONDS)
        try:
            self._socket.sendall(raw)
            if eof:
                self._socket.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass  # A server may answer before it has read everything.
        try:
            answer, is_last = _read(self._socket, method)
        except ConnectionError:
            self.close()
            return None
        if is_last:
            self.close()
        return answer


def _read(connection: socket.socket, method: bytes) -> tuple[Answer, bool]:
    """One response, and whether it is the last on its connection."""
    with http.client.HTTPResponse(connection, method=method.decode("latin-1")) as response:
        response.begin()
        body = response.read()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, body), response.will_close


def all_at_once(port: int, request: Request, count: int) -> list[Answer]:
    """The responses to ``count`` equal requests whose last bytes arrive together."""
    raw = request.encode()
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
            for _ in range(count)
        ]
        for connection in connections:
            connection.sendall(raw[:-1])
        for connection in connections:
            connection.sendall(raw[-1:])
        return [_read(connection, request.method)[0] for connection in connections]
