"""Web processes and workers of two releases on one database, behind a load balancer."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.receivers import MESSAGE_KINDS, Hook, Hooks, Mood
from contract_tests.commands import FIRST_ID, Command, CommandServer
from contract_tests.harness import START_SECONDS, Customer, free_port, wait_for
from contract_tests.parts import Parts, Process
from contract_tests.servers import RedisServer
from contract_tests.upgrades.balancer import Balancer
from contract_tests.upgrades.clients import Clients

# The exit status of a command, and what it printed on stdout and stderr.
Finished = tuple[int, str, str]


class Service(Parts):
    """Parts of any release, each started by itself."""

    def __init__(self, folder: Path, balancer: Balancer, **settings: str) -> None:
        super().__init__(folder, GATEWAY_PUBLIC_URL=balancer.url, **settings)
        self.balancer = balancer
        self.hooks = Hooks()
        self._commands: dict[Path, CommandServer] = {}

    def run(self, release: Path, *arguments: str) -> Finished:
        """Run a command of a release: its exit status, and what it printed on stdout and stderr."""
        return self._commands_of(release).invoke(arguments, self.environment, self.folder)

    def ask(self, release: Path, *commands: Command) -> list[Any]:
        """What commands print with ``--json``."""
        return self._commands_of(release).run(commands, self.environment, self.folder)

    def start_part(self, release: Path, *arguments: str) -> Process:
        """Start a part of a release."""
        with (self.folder / "up.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "gateway", *arguments],
                env=self._environment_of(release),
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._running.append(process)
        return process

    def start_network(self, release: Path) -> None:
        """Start the sandbox. It has a data directory of its own: the network outlives the service's."""
        own = {"GATEWAY_DATA_DIR": str(self.folder / "network")}
        before, self.environment = self.environment, {**self.environment, **own}
        self.start_part(release, "sandbox")
        self.environment = before
        wait_for(lambda: _answers(f"{self.sandbox}/_sandbox/healthz"), "a network", START_SECONDS)

    def web(self, release: Path) -> "Web":
        """Start a web process, and put it in service when it is ready."""
        port = free_port()
        process = self.start_part(release, "web", "--port", str(port))
        web = Web(f"http://127.0.0.1:{port}", process)
        wait_for(web.is_ready, f"a ready web process; {self.log()}", START_SECONDS)
        self.balancer.put_in(web.url)
        return web

    def retire(self, web: "Web") -> None:
        """Take a web process out of service, and stop it."""
        self.balancer.take_out(web.url)
        end(web.process)

    def open(self, release: Path, web: "Web") -> tuple[Customer, Hook]:
        """A customer with a number and a webhook of all kinds of message events."""
        account, key, number = self.ask(
            release,
            ("accounts", "create", "Acme", "--plan", "pro"),
            ("keys", "create", FIRST_ID),
            ("sandbox-connect", FIRST_ID),
        )
        customer = Customer(account["id"], key["key"], f"{web.url}/api", number)
        return customer, self.hooks.add(customer, "all", MESSAGE_KINDS, Mood(1, 1))

    def clients(self, customer: Customer) -> Clients:
        """Those of a customer."""
        return Clients(self.balancer, customer)

    def settled(self, customer: Customer, messages: int) -> Ledger:
        """Wait until all messages are read and nothing is due."""
        ledger = Ledger(self, customer)
        read = "status = 'read' AND account_id = '" + customer.account_id + "'"
        count = self.stored.count
        wait_for(lambda: count("message", read) == messages, "all messages read", START_SECONDS)
        wait_for(lambda: not any(ledger.pending().values()), "nothing due", START_SECONDS)
        return ledger

    def kill_all(self) -> None:
        """End all processes that still run."""
        for commands in self._commands.values():
            commands.close()
        for process in self._running:
            process.kill()
            process.wait(START_SECONDS)

    def _commands_of(self, release: Path) -> CommandServer:
        if release not in self._commands:
            self._commands[release] = CommandServer(release)
        return self._commands[release]

    def _environment_of(self, release: Path) -> dict[str, str]:
        return {**self.environment, "PYTHONPATH": str(release)}


class Web:
    """A web process and its address."""

    def __init__(self, url: str, process: Process) -> None:
        self.url = url
        self.process = process

    def is_ready(self) -> bool:
        """Whether it can answer requests."""
        assert self.process.poll() is None, "the web process ended"
        return _answers(f"{self.url}/readyz")


def end(process: Process) -> None:
    """Stop a part. It must end well."""
    process.terminate()
    # uvicorn ends by the signal that stopped it.
    assert process.wait(START_SECONDS) in {0, -signal.SIGTERM}


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=2).ok
    except requests.RequestException:
        return False


@contextmanager
def services(folder: Path, **settings: str) -> Iterator[Service]:
    """A service with nothing started. Redis counts the requests, as several web processes need it."""
    balancer = Balancer()
    with RedisServer() as redis:
        limits = {"GATEWAY_RATE_LIMIT_URL": redis.url(0)}
        service = Service(folder, balancer, **limits, **settings)
        try:
            yield service
        finally:
            service.kill_all()
            service.hooks.close()
            balancer.close()
