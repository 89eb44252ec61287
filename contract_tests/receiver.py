"""A customer's HTTP server that stores its requests and answers as configured."""

import hashlib
import hmac
import http.server
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract_tests.waiting import WAIT_SECONDS

BODILESS = {http.HTTPStatus.NO_CONTENT, http.HTTPStatus.NOT_MODIFIED}
# The prefix of a receiver's paths, unique for each receiver.
_MARK = re.compile(r"/to-[0-9a-f]{16}(?=[/?]|$)")


@dataclass(frozen=True)
class Received:
    """One request at the receiver. Header names are in lower case. ``peer`` is the sender's port."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    method: str = "POST"
    peer: int = 0

    @property
    def event(self) -> dict[str, Any]:
        """The body, parsed."""
        event: dict[str, Any] = json.loads(self.body)
        return event

    def is_signed_with(self, secret: str) -> bool:
        """Whether the signature matches the raw body (docs/receiving.md)."""
        digest = hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return self.headers.get("x-service-signature") == f"sha256={digest}"


@dataclass(frozen=True)
class Reply:
    """The response of a receiver."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class _Server(http.server.ThreadingHTTPServer):
    # A burst of deliveries opens more connections at once than the default backlog of 5 allows.
    request_queue_size = 128
    daemon_threads = True


class Receiver:
    """A customer's HTTP server on loopback. ``status`` and ``reply`` may be changed while it runs.

    A later receiver may get an earlier one's port, because services outlive receivers. Requests to an
    earlier receiver get a 404 and are not in ``requests``.
    """

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.status = 200
        self._mark = f"/to-{secrets.token_hex(8)}"
        # Replaces the status if it is set. It may block, like a slow receiver.
        self.reply: Callable[[Received], Reply] | None = None
        self._lock = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {k.lower(): v for k, v in self.headers.items()}
                mark = _MARK.match(self.path)
                if mark is not None and mark[0] != receiver._mark:
                    self._answer(Reply(http.HTTPStatus.NOT_FOUND))
                    return
                path = self.path.removeprefix(receiver._mark)
                peer: int = self.client_address[1]
                received = Received(path, headers, body, time.time(), self.command, peer)
                with receiver._lock:
                    receiver.requests.append(received)
                    # A change by the test after it sees the request applies to later requests.
                    reply, status = receiver.reply, receiver.status
                    receiver._lock.notify_all()
                # A client that timed out is gone. A reply that raises closes the connection.
                try:
                    self._answer(reply(received) if reply else Reply(status))
                except ConnectionError:
                    self.close_connection = True

            def _answer(self, reply: Reply) -> None:
                text = b"" if reply.status in BODILESS else b"ok"
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if text:
                    self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            # A client that follows a redirect may use GET.
            do_GET = do_POST  # noqa: N815 - the name is http.server's

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        # close() waits for the server's next poll.
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def url(self, path: str = "/hook") -> str:
        """The address to register. Different paths distinguish webhooks."""
        return f"http://{self.host}{self._mark}{path}"

    @property
    def host(self) -> str:
        """Address and port, as in the header Host."""
        return f"127.0.0.1:{self._server.server_port}"

    def at(self, path: str = "/hook") -> list[Received]:
        """The requests to a path so far."""
        with self._lock:
            return [r for r in self.requests if r.path == path]

    def wait(
        self,
        path: str = "/hook",
        count: int = 1,
        matching: Callable[[Received], bool] = lambda _: True,
        seconds: float = WAIT_SECONDS,
    ) -> list[Received]:
        """Wait until ``count`` matching requests came to ``path``, and return all that match."""

        def found() -> list[Received]:
            return [r for r in self.requests if r.path == path and matching(r)]

        with self._lock:
            if not self._lock.wait_for(lambda: len(found()) >= count, seconds):
                kinds = [r.event.get("event") for r in self.requests if r.path == path]
                raise AssertionError(f"{len(found())} of {count} requests came to {path}: {kinds}")
            return found()

    def wait_kind(self, kind: str, path: str = "/hook", count: int = 1) -> list[Received]:
        """Wait for events of a kind."""
        return self.wait(path, count, lambda r: r.event["event"] == kind)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
