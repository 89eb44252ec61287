"""The service as a user runs it: real processes, real ports, a real receiver."""

import hashlib
import hmac
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import requests

T = TypeVar("T")

START_SECONDS = 60
WAIT_SECONDS = 20
ROOT = Path(__file__).parent.parent
BODILESS = {http.HTTPStatus.NO_CONTENT, http.HTTPStatus.NOT_MODIFIED}


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(probe: Callable[[], T | None], what: str, seconds: float = WAIT_SECONDS) -> T:
    """Poll ``probe`` until it returns something true. Fails with ``what`` when it never does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {seconds} s")


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
    """A customer's HTTP server on loopback. ``status`` and ``reply`` may be changed while it runs."""

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.status = 200
        # May block: a slow receiver is one whose reply takes its time.
        self.reply: Callable[[Received], Reply] = lambda _: Reply(self.status)
        self._lock = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {k.lower(): v for k, v in self.headers.items()}
                peer: int = self.client_address[1]
                received = Received(self.path, headers, body, time.time(), self.command, peer)
                with receiver._lock:
                    receiver.requests.append(received)
                    receiver._lock.notify_all()
                # A client that waited too long is gone, and a reply that raises hangs up.
                try:
                    self._answer(receiver.reply(received))
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
        return f"http://127.0.0.1:{self._server.server_port}{path}"

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


@dataclass(frozen=True)
class Customer:
    """An account with a key and, where ``number`` is not empty, an active number."""

    account_id: str
    key: str
    api: str
    number: Mapping[str, Any]

    def request(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        """A request with the account's key; ``path`` is relative to the base address."""
        headers = {"Authorization": f"Bearer {self.key}"} | kwargs.pop("headers", {})
        return requests.request(
            method, f"{self.api}{path}", headers=headers, timeout=WAIT_SECONDS, **kwargs
        )

    def send(self, to: str, text: str = "Hello", key: str | None = None) -> requests.Response:
        """Send a text from the account's number."""
        body = {"number_id": self.number["id"], "to": to, "type": "text", "text": {"body": text}}
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.request("POST", "/messages/send", json=body, headers=headers)


class Gateway:
    """``gateway up`` in a process of its own, on free ports and an empty folder."""

    options: tuple[str, ...] = ("--no-demo",)

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.port, self.sandbox_port = free_port(), free_port()
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("GATEWAY_", "SANDBOX_"))},
            "GATEWAY_DATA_DIR": str(folder / "var"),
            "GATEWAY_SANDBOX_PORT": str(self.sandbox_port),
            "GATEWAY_PUBLIC_URL": f"http://127.0.0.1:{self.port}",
            "GATEWAY_PLAN_LIMITS": "starter=100,pro=1000000,anonymous=1000000",
            "GATEWAY_SWEEP_INTERVAL": "0.2",
            "SANDBOX_RETRY_CAP": "1",
            **settings,
        }
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def api(self) -> str:
        """The base address of the contract."""
        return f"{self.url}/api"

    @property
    def sandbox(self) -> str:
        """The sandbox's root."""
        return f"http://127.0.0.1:{self.sandbox_port}"

    def start(self) -> Self:
        """Start everything and wait until it serves."""
        ports = ["--port", str(self.port), "--sandbox-port", str(self.sandbox_port)]
        with (self.folder / "up.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gateway", "up", *self.options, *ports],
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        wait_for(self.is_ready, "a ready service", START_SECONDS)
        return self

    def is_ready(self) -> bool:
        """Whether web and sandbox answer."""
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"gateway up ended: {self.log()}")
        try:
            ready = requests.get(f"{self.url}/readyz", timeout=2).ok
            return ready and requests.get(f"{self.sandbox}/_sandbox/healthz", timeout=2).ok
        except requests.RequestException:
            return False

    def stop(self) -> int:
        """Stop everything cleanly. Returns the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_SECONDS)

    def log(self) -> str:
        """What the processes printed."""
        return (self.folder / "up.log").read_text()

    def cli(self, *arguments: str) -> Any:
        """Run a command with ``--json`` and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "gateway", *arguments, "--json"],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def sandbox_call(self, path: str, **body: Any) -> Any:
        """POST to a control path of the sandbox: play the platform or the recipient."""
        url = f"{self.sandbox}/_sandbox/{path}"
        answer = requests.post(url, json=body, timeout=WAIT_SECONDS)
        assert answer.ok, answer.text
        return answer.json()

    def customer(self, plan: str = "pro", *, with_number: bool = True) -> Customer:
        """A new account with a key and an active number."""
        account = self.cli("accounts", "create", "Acme", "--plan", plan)
        key = self.cli("keys", "create", account["id"])
        number = self.cli("sandbox-connect", account["id"]) if with_number else {}
        return Customer(account["id"], key["key"], self.api, number)

    def number_id_of(self, customer: Customer) -> str:
        """The network's identifier of a customer's number."""
        state = requests.get(f"{self.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
        known = {n["display_phone_number"]: str(n["id"]) for n in state["numbers"]}
        return known[customer.number["phoneNumber"]]

    def part(self, name: str) -> int:
        """The process id of the web, worker or sandbox."""
        module = {"sandbox": "-m sandbox"}.get(name, f"-m gateway {name}")
        assert self.process is not None

        def find() -> int | None:
            for entry in Path("/proc").iterdir():
                if not entry.name.isdecimal():
                    continue
                try:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                except (OSError, ValueError):
                    continue
                if module in command and self.process and int(parent) == self.process.pid:
                    return int(entry.name)
            return None

        return wait_for(find, f"a running {name}")

    def kill(self, name: str) -> None:
        """SIGKILL one part; ``gateway up`` starts it again."""
        os.kill(self.part(name), signal.SIGKILL)


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Gateway]:
    """A gateway of one's own, with settings of one's own."""
    gateway = Gateway(folder, **settings).start()
    try:
        yield gateway
    finally:
        gateway.stop()
