"""Prints the modules that one request, status or delivery enters, and how often a call changes the module.

The status is traced from the body of its callback on, the delivery from the stored event on.

``make trace`` traces all kinds of work, ``make trace ARGS=send`` the modules of one. The service runs in this
process, on SQLite in an empty directory, with a receiver and a network that accepts everything.
"""

import asyncio
import http.client
import json
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

from aiohttp import web

from contract_tests.waiting import free_port, wait_for
from gateway.http.server import serve
from gateway.ops.watchdog import Watchdog
from gateway.settings import get_settings
from gateway.storage import connect_state
from models import database, doorbells
from models.accounts.account import Account, ApiKey
from models.accounts.user import Role
from models.accounts.user_session import UserSession
from models.deliveries.delivery import Delivery, DeliveryState
from models.messages.message import Message
from services import receiving
from tasks.deliver import Engine
from tests import factories, people
from tests.tasks.callbacks import messages, status_of
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.schedule import RetrySchedule

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "gateway",
    "handlers",
    "services",
    "resources",
    "dashboard",
    "tasks",
    "models",
    "networks",
    "webhooks",
)
WARM_UP = 2
# After the last call, the time in seconds for what follows a response.
QUIET_SECONDS = 0.3


class Trace:
    """The modules whose functions are called while it is ``on``, and the changes between them."""

    def __init__(self) -> None:
        self.on = False
        self.changes = 0
        self._modules: dict[str, None] = {}
        self._last: dict[int, str] = {}
        self._paths: dict[str, str | None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """See sys.setprofile."""
        if not self.on or event != "call":
            return
        file = frame.f_code.co_filename
        if file not in self._paths:
            self._paths[file] = _ours(file)
        if (path := self._paths[file]) is None:
            return
        self._modules[path] = None
        thread = threading.get_ident()
        self.changes += self._last.get(thread) != path
        self._last[thread] = path

    def during(self, work: Callable[[], object]) -> tuple[list[str], int]:
        """Trace this work and what follows it. Returns the modules in order, and the changes."""
        self._modules, self._last, self.changes, self.on = {}, {}, 0, True
        work()
        threading.Event().wait(QUIET_SECONDS)
        self.on = False
        return list(self._modules), self.changes


def _ours(file: str) -> str | None:
    """The path of a module of the service, below the root."""
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return None
    name = str(path.relative_to(ROOT))
    return name if name.startswith(PACKAGES) else None


_accepted = count(1)


async def _accept(request: web.Request) -> web.Response:
    """The response of the network to a send, and of a receiver to an event."""
    await request.read()
    return web.json_response({"messages": [{"id": f"wamid.{next(_accepted)}"}]})


async def _serve_others(port: int, ready: threading.Event) -> None:
    app = web.Application()
    app.router.add_post("/{path:.*}", _accept)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    ready.set()
    await asyncio.Event().wait()


class Client:
    """An account with a number, a key and a signed-in user, over one kept connection."""

    def __init__(self, port: int, others: int) -> None:

        self.account = Account.open("Acme", "pro")
        self.number = factories.active_number(self.account)
        self.webhook = factories.webhook(self.account, f"http://127.0.0.1:{others}/")
        self.key = ApiKey.issue(self.account, "trace")[1]
        self.session = UserSession.begin(people.member(self.account, Role.OWNER, "ada"))
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.sent = 0

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> None:
        """Send a request. Its response must be 200."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self.line.request(method, path, body, given)
        response = self.line.getresponse()
        text = response.read()
        if response.status != http.client.OK:
            raise RuntimeError(f"{response.status} {text!r}")

    def send(self) -> None:
        """POST /messages/send with an Idempotency-Key."""
        self.sent += 1
        body = {"number_id": self.number.id, "to": "15551234567", "type": "text"}
        text = json.dumps(body | {"text": {"body": "Hi"}}).encode()
        headers = {"Content_Type": "application/json", "Idempotency_Key": f"order-{self.sent}"}
        self.ask("POST", "/api/messages/send", text, Authorization=f"Bearer {self.key}", **headers)

    def status_body(self) -> bytes:
        """The callback with the network's status of the last message."""
        message = Message.select().order_by(Message.id.desc()).get()
        entry = messages(statuses=[status_of(str(message.wa_message_id), "delivered")])
        return json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()

    def get_number(self) -> None:
        """GET /numbers/{id}."""
        path = f"/api/numbers/{self.number.id}"
        self.ask("GET", path, Authorization=f"Bearer {self.key}")

    def overview(self) -> None:
        """The first page of the dashboard."""
        self.ask("GET", "/dashboard/", Cookie=f"gateway_session={self.session}")


def _drive(port: int, others: int, trace: Trace, wanted: list[str]) -> None:
    """Do each kind of work, traced after the warm-up. Then end the process."""
    client = Client(port, others)

    def take_status() -> None:
        asyncio.run(receiving.door.take(client.status_body()))

    def schedule() -> None:
        # Nothing wakes the engine before the trace.
        with mock.patch.object(doorbells.deliveries, "ring"):
            factories.deliveries(client.account, client.webhook)

    def deliver() -> None:
        engine.wake()
        undelivered = Delivery.select().where(Delivery.state != DeliveryState.DELIVERED)
        until(lambda: not undelivered.exists(), "the delivery")

    # What happens before each work is not traced.
    works: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "send": (lambda: None, client.send),
        "status": (client.send, take_status),
        "number": (lambda: None, client.get_number),
        "overview": (lambda: None, client.overview),
        "delivery": (schedule, deliver),
    }
    if unknown := set(wanted) - set(works):
        raise ValueError(f"{unknown} is none of {[*works]}")
    webhook_client = WebhookClient(timeout=10, allow_local=True, user_agent="Gateway/1")
    engine = Engine(webhook_client, RetrySchedule((30.0,)), 10, 10)
    # Only a delivery is traced with the engine: the events of other work would start it.
    for name, (prepare, work) in works.items():
        if name == "delivery":
            engine.start()
        for _ in range(WARM_UP):
            prepare()
            work()
        prepare()
        threading.Event().wait(QUIET_SECONDS)
        modules, changes = trace.during(work)
        print(f"{name}: {len(modules)} modules, {changes} changes between them", flush=True)
        if name in wanted:
            print("\n".join(f"  {path}" for path in modules), flush=True)
    # The server needs no graceful stop.
    os._exit(0)


def main(wanted: list[str]) -> None:
    """Serve until the client is done."""
    # The watchdog is no part of a request.
    mock.patch.object(Watchdog, "start").start()
    os.environ |= {
        "GATEWAY_DATA_DIR": tempfile.mkdtemp(),
        "GATEWAY_NETWORK_APP_SECRET": "trace",
        # It is written about a second later, and on a slow machine that is during other work.
        "GATEWAY_REQUEST_LOG_DAYS": "0",
    }

    port, others = free_port(), free_port()
    os.environ["GATEWAY_NETWORK_URL"] = f"http://127.0.0.1:{others}"
    trace, ready = Trace(), threading.Event()
    threading.Thread(target=lambda: asyncio.run(_serve_others(others, ready)), daemon=True).start()
    # A send before the network listens would fail.
    ready.wait(30)
    threading.setprofile(trace)
    sys.setprofile(trace)
    settings = get_settings()
    connect_state(settings)
    database.migrate()

    def is_served() -> bool:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port)) as line:
                line.request("GET", "/healthz")
                return line.getresponse().status == http.client.OK
        except ConnectionRefusedError:
            return False

    def drive() -> None:
        try:
            wait_for(is_served, "the web part", 30)
            _drive(port, others, trace, wanted)
        finally:
            # The server needs no graceful stop. An error is on stderr.
            if error := sys.exc_info()[1]:
                traceback.print_exception(error)
                os._exit(1)

    threading.Thread(target=drive, daemon=True).start()
    serve(settings, "127.0.0.1", port)


if __name__ == "__main__":
    main(sys.argv[1:])
