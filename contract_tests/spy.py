"""A reverse proxy for the sandbox: it records each call of the gateway, and can withhold a response."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import requests

from contract_tests.harness import WAIT_SECONDS, Gateway

HOST = "127.0.0.1"
PASSED_ON = ("authorization", "content-type", "x-hub-signature-256")


class Spy:
    """Forwards requests to the sandbox at ``target``. ``seen`` is the requests in order."""

    def __init__(self, target: str) -> None:
        self.seen: list[str] = []
        self.withheld = threading.Event()
        self._target = target
        self._withhold = ""
        self._released = threading.Event()
        spy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = spy._pass_on(self, body)
                try:
                    self.send_response(answer.status_code)
                    self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
                    self.send_header("Content-Length", str(len(answer.content)))
                    self.end_headers()
                    self.wfile.write(answer.content)
                except ConnectionError:
                    # The client was killed meanwhile.
                    self.close_connection = True

            do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the names are http.server's

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_port}"
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def withhold(self, call: str) -> None:
        """Let the sandbox execute the next such call, and withhold its response."""
        self.withheld.clear()
        self._released.clear()
        self._withhold = call

    def release(self) -> None:
        """Withhold nothing any more."""
        self._withhold = ""
        self._released.set()

    def close(self) -> None:
        """Stop listening."""
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def _pass_on(self, request: BaseHTTPRequestHandler, body: bytes) -> requests.Response:
        call = f"{request.command} {urlsplit(request.path).path.rpartition('/')[2]}"
        headers = {k: v for k, v in request.headers.items() if k.lower() in PASSED_ON}
        self.seen.append(call)
        answer = requests.request(
            request.command,
            self._target + request.path,
            data=body,
            headers=headers,
            timeout=WAIT_SECONDS,
        )
        if call == self._withhold:
            self.withheld.set()
            self._released.wait(WAIT_SECONDS)
        return answer


@contextmanager
def spied_on(folder: Path, **settings: str) -> Iterator[tuple[Gateway, Spy]]:
    """A running gateway that reaches its network through a spy."""
    gateway = Gateway(folder, **settings)
    spy = Spy(gateway.sandbox)
    gateway.environment["GATEWAY_NETWORK_URL"] = spy.url
    gateway.start()
    try:
        yield gateway, spy
    finally:
        gateway.stop()
        spy.close()
