"""The service as a user runs it: real processes, real ports."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

import requests

from contract_tests.backends import state_of
from contract_tests.commands import FIRST_ID, ROOT, command_server
from contract_tests.stored import Stored
from contract_tests.waiting import START_SECONDS, WAIT_SECONDS, free_port, wait_for

__all__ = ["ROOT", "Customer", "Gateway", "running"]


@dataclass(frozen=True)
class Customer:
    """An account with a key and, unless ``number`` is empty, an active number."""

    account_id: str
    key: str
    api: str
    number: Mapping[str, Any]

    def request(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        """A request with the account's key; ``path`` is relative to the base address."""
        headers = {"Authorization": f"Bearer {self.key}"} | kwargs.pop("headers", {})
        seconds = kwargs.pop("timeout", WAIT_SECONDS)
        return requests.request(
            method, f"{self.api}{path}", headers=headers, timeout=seconds, **kwargs
        )

    def send(
        self,
        to: str,
        text: str = "Hello",
        key: str | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> requests.Response:
        """Send a text from the account's number."""
        body = {"number_id": self.number["id"], "to": to, "type": "text", "text": {"body": text}}
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.request("POST", "/messages/send", json=body, headers=headers, timeout=timeout)


LAUNCHED: "WeakSet[Gateway]" = WeakSet()


class Gateway:
    """``gateway up`` in a separate process, on free ports and in an empty folder."""

    program: tuple[str, ...] = (sys.executable, "-m", "gateway")
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
            "GATEWAY_WEBHOOK_LIMITS": "starter=20,pro=1000000",
            "GATEWAY_SWEEP_INTERVAL": "2",
            "SANDBOX_RETRY_CAP": "1",
            **state_of(folder),
            **settings,
        }
        self.stored = Stored(self.environment)
        self.process: subprocess.Popen[str] | None = None
        LAUNCHED.add(self)

    @property
    def told(self) -> dict[str, str]:
        """The environment of a command: only where the service stores its data."""
        ours = ("GATEWAY_", "SANDBOX_")
        others = {k: v for k, v in self.environment.items() if not k.startswith(ours)}
        folder = {"GATEWAY_DATA_DIR": self.environment["GATEWAY_DATA_DIR"]}
        return others | folder | state_of(self.folder)

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
        self.launch_up()
        wait_for(self.is_ready, "a ready service", START_SECONDS)
        return self

    def launch_up(self) -> None:
        """Start everything."""
        ports = ["--port", str(self.port), "--sandbox-port", str(self.sandbox_port)]
        with (self.folder / "up.log").open("a") as log:
            self.process = subprocess.Popen(
                [*self.program, "up", *self.options, *ports],
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def is_ready(self) -> bool:
        """Whether web and sandbox answer."""
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"gateway up ended: {self.log()}")
        return _is_ok(f"{self.url}/readyz") and _is_ok(f"{self.sandbox}/_sandbox/healthz")

    def stop(self) -> int:
        """Stop everything cleanly. Returns the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_SECONDS)

    @property
    def is_running(self) -> bool:
        """Whether it was launched and has not ended."""
        return self.process is not None and self.process.poll() is None

    def log(self) -> str:
        """The output of the processes."""
        return (self.folder / "up.log").read_text()

    def cli(self, *arguments: str) -> Any:
        """Run a command with ``--json`` and return its output."""
        [printed] = self._run_all([arguments])
        return printed

    def sandbox_call(self, path: str, **body: Any) -> Any:
        """POST to a control path of the sandbox, to act as the platform or the recipient."""
        url = f"{self.sandbox}/_sandbox/{path}"
        answer = requests.post(url, json=body, timeout=WAIT_SECONDS)
        assert answer.ok, answer.text
        return answer.json()

    def accepted(self) -> list[dict[str, Any]]:
        """The messages that the sandbox accepted, in order."""
        answer = requests.get(f"{self.sandbox}/_sandbox/messages", timeout=WAIT_SECONDS)
        found: list[dict[str, Any]] = answer.json()["data"]
        return found

    def customer(self, plan: str = "pro", *, with_number: bool = True) -> Customer:
        """A new account with a key and an active number."""
        commands = [("accounts", "create", "Acme", "--plan", plan), ("keys", "create", FIRST_ID)]
        connect = [("sandbox-connect", FIRST_ID)] if with_number else []
        account, key, *numbers = self._run_all([*commands, *connect])
        return Customer(account["id"], key["key"], self.api, numbers[0] if numbers else {})

    def _run_all(self, commands: list[tuple[str, ...]]) -> list[Any]:
        return command_server().run(commands, self.environment, self.folder)

    def number_id_of(self, customer: Customer) -> str:
        """The network's identifier of a customer's number."""
        state = requests.get(f"{self.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
        known = {n["display_phone_number"]: str(n["id"]) for n in state["numbers"]}
        return known[customer.number["phoneNumber"]]

    def business_account_of(self, customer: Customer) -> str:
        """The network's identifier of the business account of a customer's number."""
        state = requests.get(f"{self.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
        number_id = self.number_id_of(customer)
        [waba] = [str(n["waba_id"]) for n in state["numbers"] if n["id"] == number_id]
        return waba

    def give_notice(self, customer: Customer) -> None:
        """Let the platform send a notice about a customer's number that changes nothing."""
        waba = self.business_account_of(customer)
        self.sandbox_call(f"wabas/{waba}/events", field="phone_number_quality_update", value={})

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
        """SIGKILL one part, which ``gateway up`` restarts."""
        os.kill(self.part(name), signal.SIGKILL)

    def wait_for_web(self) -> None:
        """Wait until the web, started again, can serve requests."""
        wait_for(lambda: _is_ok(f"{self.url}/readyz"), "a restarted web process", START_SECONDS)


def _is_ok(url: str) -> bool:
    try:
        return requests.get(url, timeout=2).ok
    except requests.RequestException:
        return False


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[Gateway]:
    """A separate gateway with its own settings."""
    gateway = Gateway(folder, **settings).start()
    try:
        yield gateway
    finally:
        gateway.stop()
