"""A customer's HTTP server, which keeps what it received and answers as it is told."""

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
# The mark that the paths of every receiver begin with, each its own.
_MARK = re.compile(r"/to-[0-9a-f]{16}(?=[/?]|$)")


@dataclass(frozen=True)
class Received:
    """One request at the receiver. Header names are in lower case; ``peer`` is the sender's port."""

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
        """Whether the signature fits the raw body (specification, Signature)."""
        digest = hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return self.headers.get("x-service-signature") == f"sha256={digest}"


@dataclass(frozen=True)
class Reply:
    """What a receiver answers."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class _Server(http.server.ThreadingHTTPServer):
    # A burst of deliveries opens more connections at once than the default of 5 lets wait.
    request_queue_size = 128
    daemon_threads = True


class Receiver:
    """A customer's HTTP server on loopback. ``status`` and ``reply`` may be changed while it runs.

    A port that one receiver left may be the next one's, and services live longer than receivers: what is
    meant for an earlier one is not found here, and kept out of ``requests``.
    """

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.status = 200
        self._mark = f"/to-{secrets.token_hex(8)}"
        # Where it is set, instead of the status. May block: a slow receiver takes its time.
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
                    # What a test says after it saw the request is for later ones.
                    reply, status = receiver.reply, receiver.status
                    receiver._lock.notify_all()
                # A client that waited too long is gone, and a reply that raises hangs up.
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

            # Whoever follows a redirect may come back with GET.
            do_GET = do_POST  # noqa: N815 - the name is http.server's

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        # close() waits for the server to look up from its poll.
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def url(self, path: str = "/hook") -> str:
        """The address to register; different paths tell webhooks apart."""
        return f"http://{self.host}{self._mark}{path}"

    @property
    def host(self) -> str:
        """The address and the port, as they stand in the header Host."""
        return f"127.0.0.1:{self._server.server_port}"

    def at(self, path: str = "/hook") -> list[Received]:
        """What came to a path so far."""
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
