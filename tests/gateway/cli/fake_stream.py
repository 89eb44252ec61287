"""A fake gateway whose event stream breaks, repeats, stalls and sends garbage."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

KEY = f"mk_live_{'k' * 43}"


def event(number: int) -> dict[str, Any]:
    """The record of an event."""
    return {
        "id": f"evt_{number:026}",
        "cursor": f"{number:x}-",
        "event": "message.received",
        "timestamp": "2026-11-20T09:30:00.000Z",
        "data": {
            "id": f"msg_{number}",
            "direction": "INBOUND",
            "fromNumber": "15551234567",
            "toNumber": "15552000001",
            "type": "text",
            "body": {"body": f"Number {number} \N{SNOWMAN}"},
        },
    }


def block(number: int) -> bytes:
    """The event in the stream's format."""
    record = event(number)
    lines = f"id: {record['cursor']}", f"event: {record['event']}", f"data: {json.dumps(record)}"
    return ("\n".join(lines) + "\n\n").encode()


class Connection:
    """One request for the stream, and its response."""

    def __init__(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        self._handler = handler
        self.path = handler.path
        self.headers = handler.headers
        last = handler.headers.get("Last-Event-ID")
        self.after = None if last is None else int(last.removesuffix("-"), 16)

    def refuse(
        self, status: int, code: str, details: dict[str, str] | None = None, **headers: str
    ) -> None:
        """Respond with an error of the contract."""
        error = {"code": code, "message": f"The text of {code}.", "status": status}
        error |= {"details": details} if details else {}
        self.answer(status, {"error": error}, **headers)

    def answer(self, status: int, content: dict[str, Any], **headers: str) -> None:
        """Respond with a JSON object."""
        body = json.dumps(content).encode()
        about = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        self._begin(status, about | headers)
        self._handler.wfile.write(body)

    def begin(self, content_type: str = "text/event-stream") -> None:
        """Start the response of a stream."""
        self._begin(200, {"Content-Type": content_type, "Transfer-Encoding": "chunked"})

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def send(self, data: bytes) -> None:
        """Send bytes as one chunk."""
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self._handler.wfile.flush()

    def end(self) -> None:
        """End the stream like a server that stops."""
        self._handler.wfile.write(b"0\r\n\r\n")


Script = Callable[[Connection], None]


class FakeGateway:
    """Responds to each request for the stream with the next script. The last one repeats."""

    def __init__(self, *scripts: Script) -> None:
        self.connections: list[Connection] = []
        self.done = threading.Event()
        self._scripts = list(scripts)
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.close_connection = True
                connection = Connection(self)
                fake.connections.append(connection)
                script = fake._scripts.pop(0) if len(fake._scripts) > 1 else fake._scripts[0]
                with suppress(OSError):
                    script(connection)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api"

    def hang(self, _connection: Connection) -> None:
        """Keep the connection open without sending anything until the test ends."""
        self.done.wait(60)

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def gateway(*scripts: Script) -> Iterator[FakeGateway]:
    """A running fake gateway."""
    with FakeGateway(*scripts) as fake:
        yield fake
