"""Rules of the packages: every module has a docstring, and only some may open connections."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import doorbells
from tasks import queue

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SANDBOX = ROOT / "sandbox" / "sandbox"
FOLDERS = [
    *(ROOT / name for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]),
    SANDBOX,
]
PACKAGES = [folder.name for folder in FOLDERS]
# Snippets for readers are not modules of the gateway.
MODULES = [
    path
    for folder in FOLDERS
    for path in sorted(folder.rglob("*.py"))
    if "snippets" not in path.parts
]
# Modules that can open a connection. The sandbox is a separate process and imports no other package.
SOCKETS = {"socket", "ssl", "socketserver", "aiohttp", "requests", "urllib3", "httpx", "httpx2"} | {
    *("http.client", "http.server", "urllib.request", "ftplib", "smtplib", "xmlrpc"),
}
OPENS_SOCKETS = {
    "networks/whatsapp/graph.py": "speaks to the messaging network",
    "networks/whatsapp/media.py": "uploads and downloads media over the connections of graph.py",
    "networks/whatsapp/checkup.py": "checks whether the network responds, and imitates its handshake",
    "webhooks/connecting.py": "connects to receivers, as the only module, and looks for routes",
    "webhooks/client.py": "passes on a TLS context, and connects to nothing",
    "webhooks/faults.py": "knows errors of TLS, and connects to nothing",
    "webhooks/reasons.py": "knows errors of TLS, and connects to nothing",
    "webhooks/mail.py": "speaks to the operator's mail server",
    "webhooks/address.py": "parses addresses, and connects to nothing",
    "webhooks/resolver.py": "queries name servers, and connects to nothing else",
    "gateway/cli/remote.py": "calls the API of a gateway, on a developer's machine",
    "gateway/http/client_limits.py": "sets options of accepted sockets, and opens none",
    "gateway/cli/listen.py": "forwards events to a developer's receiver",
    "gateway/cli/trigger.py": "controls the sandbox",
    "gateway/http/server.py": "listens for both families",
    "gateway/ops/watchdog.py": "tells systemd the state of the process",
    "models/database/redis_pool.py": "sets options of connections to Redis, and opens none",
    "models/database/resolver.py": "resolves names, and connects to nothing",
    "gateway/cli/up.py": "checks whether the ports of its parts are open",
}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _opens_sockets(path: Path) -> bool:
    return any(
        name == module or name.startswith(f"{module}.")
        for name in imports(path)
        for module in SOCKETS
    )


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_every_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_only_the_listed_modules_open_sockets() -> None:
    modules = [path for path in MODULES if SANDBOX not in path.parents]
    assert {_name(path) for path in modules if _opens_sockets(path)} == set(OPENS_SOCKETS)


def test_each_doorbell_wakes_a_part_of_the_worker() -> None:
    ports = [name for name, each in vars(doorbells).items() if isinstance(each, doorbells.Doorbell)]
    assert ports
    texts = [(ROOT / name).read_text() for name in ("gateway/worker.py", "tasks/deliver.py")]
    for name in ports:
        assert getattr(doorbells, name).ring == getattr(queue, name).ring
        assert any(f"queue.{name}" in text for text in texts)


@pytest.mark.parametrize("room", ["networks", "webhooks"])
def test_networks_and_webhooks_import_neither_models_nor_the_queue(room: str) -> None:
    forbidden = ("models", "tasks", "handlers", "peewee", "playhouse", "huey")
    imported = {name for path in (ROOT / room).glob("*.py") for name in imports(path)}
    assert not [name for name in imported if name.split(".")[0] in forbidden]
