"""Serves the web part, sends messages through it, and prints the modules that the last send entered."""

import asyncio
import http.client
import json
import os
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from aiohttp import web

from contract_tests.waiting import free_port, wait_for
from gateway.http.server import serve
from gateway.settings import get_settings
from gateway.storage import connect_state
from models import database
from models.accounts.account import Account
from models.accounts.api_key import ApiKey
from tests import factories

ROOT = Path(__file__).parents[2]
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
# The modules of the worker's wake-up and of the log line.
AFTERWARDS = {"tasks/queue.py", "gateway/ops/logs.py"}
# The log of API requests is written about a second later, and on a slow machine that is during the next send.
BESIDE = {"models/accounts/api_request.py"}


class Trace:
    """The modules whose functions run while it is ``on``, in the order of their first call."""

    def __init__(self) -> None:
        self.on = False
        self._entered: dict[CodeType, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """See sys.setprofile."""
        if self.on and event == "call":
            self._entered[frame.f_code] = None

    @property
    def modules(self) -> list[str]:
        """The paths of the modules below the root of the repository."""
        files = (Path(code.co_filename) for code in list(self._entered))
        ours = (str(f.relative_to(ROOT)) for f in files if f.is_relative_to(ROOT))
        paths = dict.fromkeys(path for path in ours if path.startswith(PACKAGES))
        return [path for path in paths if path not in BESIDE]


async def _accept(request: web.Request) -> web.Response:
    """The network's response to a send."""
    await request.read()
    return web.json_response({"messages": [{"id": f"wamid.{id(request)}"}]})


async def _be_network(port: int, ready: threading.Event) -> None:
    app = web.Application()
    app.router.add_post("/{path:.*}", _accept)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    ready.set()
    await asyncio.Event().wait()


def _ask(client: http.client.HTTPConnection, number: int) -> int:
    headers = {
        "Authorization": f"Bearer {os.environ['KEY']}",
        "Content-Type": "application/json",
        "Idempotency-Key": f"order-{number}",
    }
    body = {"number_id": os.environ["NUMBER"], "to": "15551234567", "type": "text"}
    client.request(
        "POST", "/api/messages/send", json.dumps(body | {"text": {"body": "Hi"}}), headers
    )
    response = client.getresponse()
    response.read()
    return response.status


def _drive(port: int, trace: Trace) -> None:
    """Send over one kept connection, and print the modules that the last send entered."""

    def is_served() -> bool:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port)) as client:
                client.request("GET", "/healthz")
                return client.getresponse().status == http.client.OK
        except ConnectionRefusedError:
            return False

    wait_for(is_served, "the web part", 30)
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    statuses = [_ask(client, number) for number in range(WARM_UP)]
    trace.on = True
    statuses.append(_ask(client, WARM_UP))
    wait_for(lambda: set(trace.modules) >= AFTERWARDS, "what follows the response", 10)
    trace.on = False
    told = {"statuses": statuses, "modules": trace.modules}
    os.write(sys.stdout.fileno(), json.dumps(told).encode())
    # The server needs no graceful stop.
    os._exit(0)


def main() -> None:
    """Serve until the client has printed its line."""
    port, network = free_port(), free_port()
    os.environ["GATEWAY_NETWORK_URL"] = f"http://127.0.0.1:{network}"
    trace, ready = Trace(), threading.Event()
    threading.Thread(target=lambda: asyncio.run(_be_network(network, ready)), daemon=True).start()
    # A send before the network listens would fail.
    assert ready.wait(30)
    threading.setprofile(trace)
    sys.setprofile(trace)
    settings = get_settings()
    connect_state(settings)
    database.migrate()
    account = Account.open("Acme", "pro")
    os.environ["KEY"] = ApiKey.issue(account, "trace")[1]
    os.environ["NUMBER"] = factories.active_number(account).id
    threading.Thread(target=_drive, args=(port, trace), daemon=True).start()
    serve(settings, "127.0.0.1", port)


if __name__ == "__main__":
    main()
