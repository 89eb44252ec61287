"""A customer's HTTP server on loopback, with a behaviour for each path."""

import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.waiting import PATIENCE


@dataclass(frozen=True)
class Received:
    """One request that arrived. Header names are in lower case; ``peer`` tells connections apart."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    peer: tuple[str, int]

    @property
    def event(self) -> dict[str, Any]:
        """The body, parsed."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


class Exchange(http.server.BaseHTTPRequestHandler):
    """One connection. A behaviour writes the answer with ``reply`` or straight to ``wfile``."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    def reply(
        self, status: int, body: bytes = b"ok", headers: dict[str, str] | None = None
    ) -> None:
        """Write a complete response."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_for_release(self) -> None:
        """Hang until the test releases it."""
        self.server.receiver.released.wait(PATIENCE)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        peer = (str(self.client_address[0]), int(self.client_address[1]))
        self.server.receiver.take(Received(self.command, self.path, headers, body, peer), self)

    do_GET = do_DELETE = do_POST  # noqa: N815 - the base class looks for these names

    def log_message(self, *_: object) -> None:
        """Log nothing."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # The default of 5 makes bursts of connections wait a second for their turn.
    request_queue_size = 128

    def __init__(
        self, receiver: "Receiver", address: str, port: int, tls: ssl.SSLContext | None
    ) -> None:
        self.receiver = receiver
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Exchange)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Some tests use a client that hangs up."""


Behaviour = Callable[[Exchange], None]


def answer(status: int, body: bytes = b"ok", **headers: str) -> Behaviour:
    """A behaviour: always this response. Underscores in header names stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange: exchange.reply(status, body, named)


def hang(exchange: Exchange) -> None:
    """A behaviour: no response until the test releases it."""
    exchange.wait_for_release()
    exchange.close_connection = True


class Receiver:
    """Records requests and responds with 200, or with the behaviour set for the path."""

    def __init__(
        self, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self.released = threading.Event()
        self._host = f"[{address}]" if ":" in address else address
        self._requests: list[Received] = []
        self._behaviours: dict[str, Behaviour] = {}
        self._arrived = threading.Condition()
        self._server = _Server(self, address, port, tls)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def url(self, path: str = "/hook") -> str:
        """The address of a path."""
        return f"http://{self._host}:{self.port}{path}"

    def behave(self, behaviour: Behaviour, path: str = "/hook") -> None:
        """Set the behaviour for requests to ``path`` with any query."""
        self._behaviours[path] = behaviour

    def take(self, request: Received, exchange: Exchange) -> None:
        """Record a request, then respond to it."""
        with self._arrived:
            self._requests.append(request)
            # A behaviour that the test sets after it saw the request applies to later requests.
            behaviour = self._behaviours.get(request.path.partition("?")[0], answer(200))
            self._arrived.notify_all()
        behaviour(exchange)

    def at(self, path: str = "/hook") -> list[Received]:
        """The requests to a path so far, in order."""
        with self._arrived:
            return [request for request in self._requests if request.path == path]

    def wait(self, count: int = 1, path: str = "/hook") -> list[Received]:
        """Wait until ``count`` requests came to ``path``."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self.at(path)) >= count, PATIENCE)
            found = self.at(path)
        assert len(found) >= count, f"{len(found)} of {count} requests came to {path}"
        return found

    def close(self) -> None:
        """Release hanging requests and stop listening."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
