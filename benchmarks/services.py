"""Starts the parts of a gateway and the peers, each in a separate process."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import requests

from contract_tests.service import Gateway
from contract_tests.waiting import START_SECONDS, WAIT_SECONDS, free_port, wait_for
from gateway.settings import Settings
from networks.interface import Sender
from networks.registry import wait_for as wait_for_network
from networks.whatsapp.cloud_api import CloudApi

ROOT = Path(__file__).parent.parent
PEERS_PYTHON = ROOT / "benchmarks/peers/.venv/bin/python"
STOP_SECONDS = 20
PIN = "000000"


@dataclass(frozen=True)
class Server:
    """The URL and the process of a server."""

    url: str
    pid: int


class Parts(Gateway):
    """Parts of a gateway (web, worker, sandbox), with a separate data folder.

    A part that dies is not restarted, and the rate limit is never reached. Settings are named GATEWAY_... The
    commands, the customer and the controls of the sandbox are those of the contract tests.
    """

    def __init__(self, folder: Path, parts: Sequence[str], **settings: str) -> None:
        folder.mkdir(exist_ok=True)
        defaults = {"GATEWAY_SWEEP_INTERVAL": "2", "GATEWAY_LOG_FORMAT": "json"}
        super().__init__(folder, **(defaults | settings))
        self._parts = parts
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> Self:
        """Migrate, and start all parts."""
        self.cli("migrate")
        for name in self._parts:
            self.begin(name)
        return self

    def begin(self, name: str) -> None:
        """Start a part, and wait until it listens if it does."""
        options = ("--port", str(self.port)) if name == "web" else ()
        command = [sys.executable, "-m", "gateway", name, *options]
        log = self.folder / f"{name}.log"
        process = _spawn(command, log, self.environment, self.folder)
        self.processes[name] = process
        if url := {"web": self.url, "sandbox": self.sandbox}.get(name):
            _wait_until_served(url, process, log)

    def stop(self) -> int:
        """Stop the parts. Returns 0, or the exit status of one that failed."""
        for process in self.processes.values():
            process.terminate()
        statuses = [abs(process.wait(STOP_SECONDS)) for process in self.processes.values()]
        return max(statuses, default=0)

    @property
    def web(self) -> Server:
        """The web process."""
        return Server(self.url, self.processes["web"].pid)

    def behave(self, **knobs: float) -> None:
        """Set the sandbox's behaviour."""
        url = f"{self.sandbox}/_sandbox/behaviour"
        requests.put(url, json=knobs, timeout=WAIT_SECONDS).raise_for_status()

    def sender(self, **signup: str) -> Sender:
        """Another number of the sandbox, for a peer that sends without the gateway."""
        url = f"{self.sandbox}/_sandbox/signup"
        grant = requests.post(url, json=signup, timeout=WAIT_SECONDS).json()
        settings = Settings(sandbox_port=self.sandbox_port)
        network = CloudApi(
            self.sandbox,
            settings.network_version,
            settings.network_app_id,
            settings.network_app_secret.get_secret_value(),
            settings.network_timeout,
        )
        sender = Sender(
            grant["phone_number_id"], wait_for_network(network.exchange_code(grant["code"]))
        )
        wait_for_network(network.register(sender, PIN))
        wait_for_network(network.close())
        return sender


@contextmanager
def parts(folder: Path, *names: str, **settings: str) -> Iterator[Parts]:
    """Run parts of a gateway inside the block."""
    gateway = Parts(folder, names, **settings)
    try:
        yield gateway.start()
    finally:
        gateway.stop()


@contextmanager
def peer(folder: Path, name: str, **environment: str) -> Iterator[Server]:
    """Serve the application benchmarks/peers/NAME with uvicorn, in one process without access log."""
    port = free_port()
    app = f"benchmarks.peers.{name}.app:app"
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-access-log"]
    folder.mkdir(exist_ok=True)
    log = folder / "peer.log"
    command = [str(PEERS_PYTHON), "-m", "uvicorn", app, *options]
    process = _spawn(command, log, os.environ | environment, ROOT)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_served(url, process, log)
        yield Server(url, process.pid)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _spawn(
    command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
) -> "subprocess.Popen[bytes]":
    with log.open("ab") as file:
        return subprocess.Popen(command, env=environment, cwd=folder, stdout=file, stderr=file)


def _wait_until_served(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Any response is enough here. The load generator checks its content."""

    def is_served() -> bool:
        if process.poll() is not None:
            raise AssertionError(f"it ended: {log.read_text()}")
        try:
            requests.get(url, timeout=WAIT_SECONDS)
        except requests.ConnectionError:
            return False
        return True

    wait_for(is_served, f"a server at {url}", START_SECONDS)
