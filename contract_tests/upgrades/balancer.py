"""A load balancer in front of web processes that come and go, for clients and the network's callbacks."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests

from contract_tests.harness import WAIT_SECONDS

# What the service reads of a callback.
PASSED_ON = ("Content-Type", "X-Hub-Signature-256")


class Balancer:
    """Gives each request to the web process with the fewest. One that is taken out gets no new ones."""

    def __init__(self) -> None:
        self._in_service: set[str] = set()
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()
        self.answered: Counter[str] = Counter()
        self.failures: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _passing_on(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the network finds the service."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def put_in(self, url: str) -> None:
        """Send requests to the web process at this address as well."""
        with self._changed:
            self._in_service.add(url)

    def take_out(self, url: str) -> None:
        """Send it no more requests, and wait until those that run there are answered."""
        with self._changed:
            self._in_service.remove(url)
            assert self._changed.wait_for(lambda: not self._running[url], WAIT_SECONDS)

    def request(self, method: str, path: str, **options: object) -> requests.Response | None:
        """Send a request to one of them. Every answer but a 2xx is a failure; None is no answer."""
        with self._chosen() as url:
            if url is None:
                self.failures.append(f"{method} {path}: no web process is in service")
                return None
            try:
                answer = requests.request(method, url + path, timeout=WAIT_SECONDS, **options)  # type: ignore[arg-type]
            except requests.RequestException as error:
                self.failures.append(f"{method} {path}: {error}")
                return None
        if not answer.ok:
            self.failures.append(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    @contextmanager
    def _chosen(self) -> Iterator[str | None]:
        with self._changed:
            url = min(self._in_service, key=lambda each: self._running[each], default=None)
            if url is not None:
                self._running[url] += 1
        try:
            yield url
        finally:
            with self._changed:
                if url is not None:
                    self.answered[url] += 1
                    self._running[url] -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Take no more callbacks."""
        self._server.shutdown()
        self._server.server_close()


def _passing_on(balancer: Balancer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
            answer = balancer.request(self.command, self.path, data=body, headers=headers)
            self.send_response(502 if answer is None else answer.status_code)
            self.end_headers()
            self.wfile.write(b"" if answer is None else answer.content)

        do_GET = do_POST  # noqa: N815 - the name is http.server's

        def log_message(self, *_: object) -> None:
            pass

    return Handler
