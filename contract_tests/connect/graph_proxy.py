"""A proxy between the gateway and its network, at which a test can make the platform fail."""

import http.server
import json
import threading
from dataclasses import dataclass

import requests

from contract_tests.harness import WAIT_SECONDS

HANG_UP = 0


@dataclass(frozen=True)
class Fault:
    """The response instead: an HTTP status with an error code, or HANG_UP."""

    status: int
    code: int = 0
    message: str = "An invented error"

    @property
    def body(self) -> bytes:
        """An error in the platform's shape."""
        error = {"message": self.message, "type": "OAuthException", "code": self.code}
        return json.dumps({"error": error}).encode()


class GraphProxy:
    """Forwards requests to the sandbox. ``faults``, by the end of a path, replace its responses while set."""

    def __init__(self) -> None:
        self.target = ""
        self.faults: dict[str, Fault] = {}
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fault = proxy.fault_for(self.path)
                if fault is None:
                    self._forward(body)
                elif fault.status == HANG_UP:
                    self.close_connection = True
                else:
                    self._reply(fault.status, "application/json", fault.body)

            def _forward(self, body: bytes) -> None:
                answer = requests.request(
                    self.command,
                    proxy.target + self.path,
                    data=body,
                    headers=dict(self.headers.items()),
                    timeout=WAIT_SECONDS,
                )
                kept = ("Access-Control-Allow-Origin", "Content-Security-Policy")
                extra = {name: answer.headers[name] for name in kept if name in answer.headers}
                self._reply(
                    answer.status_code, answer.headers["Content-Type"], answer.content, **extra
                )

            def _reply(self, status: int, content_type: str, body: bytes, **extra: str) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": content_type, **extra}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = _pass  # noqa: N815 - the names are http.server's

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        """The address of the network in the gateway's settings."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fault_for(self, path: str) -> Fault | None:
        """The fault that is set for a path."""
        bare = path.partition("?")[0]
        return next((fault for end, fault in self.faults.items() if bare.endswith(end)), None)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
