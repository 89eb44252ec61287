"""A sandbox process, and a receiver of its callbacks."""

import hashlib
import hmac
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests

from sandbox.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
APP_ID, APP_SECRET, VERIFY_TOKEN = "4711", "test-app-secret", "test-verify-token"
PATIENCE = 15.0


@dataclass(frozen=True)
class Callback:
    """One POST that arrived, as it came."""

    raw: bytes
    signature: str

    @property
    def changes(self) -> list[tuple[str, dict[str, Any]]]:
        """Every change, with the id of its entry."""
        entries = json.loads(self.raw)["entry"]
        return [(entry["id"], change) for entry in entries for change in entry["changes"]]

    def items(self, kind: str) -> list[dict[str, Any]]:
        """All statuses or messages in it."""
        return [item for _, change in self.changes for item in change["value"].get(kind, ())]

    @property
    def is_signed(self) -> bool:
        digest = hmac.new(APP_SECRET.encode(), self.raw, hashlib.sha256).hexdigest()
        return hmac.compare_digest(self.signature, f"sha256={digest}")


class Receiver:
    """Records callbacks. ``answer`` picks the HTTP status for each; None leaves it hanging."""

    def __init__(self) -> None:
        self.answer: Callable[[Callback], int | None] = lambda _: 200
        self.verify: Callable[[dict[str, str]], tuple[int, str]] = lambda query: (
            200,
            query["hub.challenge"],
        )
        self.callbacks: list[Callback] = []
        self.handshakes: list[dict[str, str]] = []
        self.released = threading.Event()
        self._changed = threading.Condition()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/network/callback"

    def receive(self, callback: Callback) -> int | None:
        with self._changed:
            self.callbacks.append(callback)
            # An answer that the test sets after it saw the callback applies to later ones.
            answer = self.answer
            self._changed.notify_all()
        return answer(callback)

    def wait(self, fulfilled: Callable[[], bool]) -> None:
        """Return as soon as a callback makes this true. Fail after the time limit."""
        with self._changed:
            assert self._changed.wait_for(fulfilled, PATIENCE), self.callbacks

    def items(self, kind: str) -> list[dict[str, Any]]:
        return [item for callback in list(self.callbacks) for item in callback.items(kind)]

    def statuses_of(self, wamid: str) -> list[str]:
        """The statuses of a message in the order in which they came."""
        return [each["status"] for each in self.items("statuses") if each["id"] == wamid]

    def wait_for_statuses(self, wamid: str, *statuses: str) -> None:
        self.wait(lambda: set(statuses) <= set(self.statuses_of(wamid)))

    def account_updates(self) -> list[tuple[str, dict[str, Any]]]:
        changes = [pair for callback in list(self.callbacks) for pair in callback.changes]
        return [(waba, ch["value"]) for waba, ch in changes if ch["field"] == "account_update"]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed sandbox resets its connections, which is expected."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query))
        self.server.receiver.handshakes.append(query)
        self._reply(*self.server.receiver.verify(query))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.receiver.receive(Callback(raw, self.headers["X-Hub-Signature-256"]))
        if status is None:
            self.server.receiver.released.wait(PATIENCE)
            self.close_connection = True
            return
        self._reply(status, "")

    def _reply(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


# Its processes are forks of one that has imported the sandbox: an import takes half a second.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["sandbox.__main__"])


def _serve(environment: dict[str, str], printed: Connection, said: Path) -> None:
    """What ``python -m sandbox`` does, in a fork."""
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(printed.fileno(), sys.stdout.fileno())
    with said.open("a") as log:
        os.dup2(log.fileno(), sys.stderr.fileno())
    sys.exit(main())


@dataclass
class Sandbox:
    """A sandbox in its own process on a free loopback port, with one data directory."""

    data_dir: Path
    callback_url: str
    extra: dict[str, str] = field(default_factory=dict)
    url: str = ""
    # What it printed at its start.
    said: str = ""

    def __post_init__(self) -> None:
        self.http = requests.Session()
        self.start()

    def start(self) -> None:
        own = {"SANDBOX_DATA_DIR": str(self.data_dir), "SANDBOX_CALLBACK_URL": self.callback_url}
        reader, writer = _FORKS.Pipe(duplex=False)
        with reader, writer:
            environment = _environment(**own, **self.extra)
            given = (environment, writer, self.log)
            self.process = _FORKS.Process(target=_serve, args=given, daemon=True)
            self.process.start()
            self.said = os.read(reader.fileno(), 4096).decode()
        assert self.said.startswith("sandbox listening on "), self.said
        self.url = self.said.split()[3].rstrip(",")

    @property
    def log(self) -> Path:
        """Its stderr."""
        return self.data_dir.with_suffix(".log")

    @property
    def pid(self) -> int:
        """Its process."""
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end of the process."""
        self.process.kill()
        self.process.join()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int | None:
        """Stop it with a signal. Returns the exit code."""
        os.kill(self.pid, number)
        self.process.join(PATIENCE)
        return self.process.exitcode

    def close(self) -> None:
        self.http.close()
        self.kill()

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        return self.http.request(method, self.url + path, timeout=PATIENCE, **options)

    def control(self, method: str, path: str, body: Any = None) -> Any:
        """A control call that must succeed."""
        response = self.call(method, f"/_sandbox/{path}", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    def exchange(self, code: str) -> requests.Response:
        query = {"client_id": APP_ID, "client_secret": APP_SECRET, "code": code}
        return self.call("GET", "/v25.0/oauth/access_token", params=query)

    def connect(self, **signup: Any) -> "Business":
        """Everything from signup to a registered number with a subscription."""
        business = self.sign_up(**signup)
        assert business.graph("POST", f"{business.waba_id}/subscribed_apps").ok
        assert business.register("123456").ok
        return business

    def sign_up(self, **signup: Any) -> "Business":
        found = self.control("POST", "signup", signup)
        token = self.exchange(found.pop("code")).json()["access_token"]
        return Business(
            self, token, found["phone_number_id"], found["waba_id"], found["display_phone_number"]
        )

    def accepted(self) -> list[dict[str, Any]]:
        data: list[dict[str, Any]] = self.control("GET", "messages")["data"]
        return data


@dataclass
class Business:
    """A customer of the platform, with its token."""

    sandbox: Sandbox
    token: str
    number_id: str
    waba_id: str
    digits: str

    def graph(self, method: str, path: str, body: Any = None, **options: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.sandbox.call(method, f"/v25.0/{path}", json=body, headers=headers, **options)

    def register(self, pin: str) -> requests.Response:
        body = {"messaging_product": "whatsapp", "pin": pin}
        return self.graph("POST", f"{self.number_id}/register", body)

    def post(self, **changes: Any) -> requests.Response:
        """A text message with some properties changed. None omits one."""
        body = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": "16505551234",
            "type": "text",
            "text": {"body": "Hello"},
        }
        body = {name: value for name, value in (body | changes).items() if value is not None}
        return self.graph("POST", f"{self.number_id}/messages", body)

    def send(self, to: str = "16505551234", text: str = "Hello", **extra: Any) -> str:
        """Send a message that must be accepted. Returns its id."""
        response = self.post(to=to, text={"body": text}, **extra)
        assert response.status_code == 200, response.text
        wamid: str = response.json()["messages"][0]["id"]
        return wamid


def until(condition: Callable[[], object], what: str) -> None:
    """Poll until the condition holds. Fails with ``what`` after the time limit."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE} s"
        time.sleep(0.02)


def _environment(**environ: str) -> dict[str, str]:
    """That of a sandbox; nothing of our own leaks into it."""
    inherited = {name: value for name, value in os.environ.items() if "SANDBOX" not in name}
    settings = {
        "SANDBOX_PORT": "0",
        "SANDBOX_APP_ID": APP_ID,
        "SANDBOX_APP_SECRET": APP_SECRET,
        "SANDBOX_VERIFY_TOKEN": VERIFY_TOKEN,
    }
    return inherited | settings | environ


def run_sandbox(**environ: str) -> "subprocess.Popen[str]":
    """Start the process as a person would."""
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox"],
        cwd=ROOT,
        env=_environment(**environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
