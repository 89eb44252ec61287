"""The programs of docs/clients.md with generated clients: they send, handle an error, and receive.

The tests replace the address, number and port in the files, as a reader does.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import requests

from contract_tests.clients.toolbox import CONTRACT, tool_environment
from contract_tests.doc_blocks import blocks
from contract_tests.harness import START_SECONDS, Customer, Gateway, free_port, wait_for

PAGE = "docs/clients.md"
RECIPIENT = "15551234567"
Command = Sequence[str | Path]


def programs(language: str) -> list[str]:
    """The code blocks of one language, in order."""
    return [block.text for block in blocks(PAGE) if block.language == language]


def command_to_generate(folder: Path) -> str:
    """The page's command, with the contract as a file instead of a URL."""
    command = command_of("openapi-generator-cli")
    address = "http://127.0.0.1:8080/api/openapi.yaml"
    assert address in command
    return command.replace(address, str(CONTRACT)).replace("-o client", f"-o {folder}")


def command_of(tool: str) -> str:
    """The page's command line of a tool."""
    [command] = [text for text in programs("sh") if text.startswith(f"{tool} ")]
    return command


def write(folder: Path, files: Sequence[str], texts: Sequence[str]) -> None:
    """Write each program to a file."""
    for file, text in zip(files, texts, strict=True):
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Reader:
    """A customer with a number, a webhook and a port who runs the programs of a page."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.customer: Customer = gateway.customer()
        self.receiver = f"127.0.0.1:{free_port()}"
        webhook = {"url": f"http://{self.receiver}/", "events": ["message.received"]}
        self.secret = self.customer.request("POST", "/webhooks", json=webhook).json()["secret"]

    def fill(self, folder: Path, files: Sequence[str]) -> None:
        """Replace the page's values in the files with this customer's."""
        for file in files:
            path = folder / file
            path.write_text(self.filled(path.read_text()))

    def filled(self, text: str) -> str:
        """The text of the page with this customer's values."""
        host, port = self.receiver.split(":")
        known = {
            "127.0.0.1:8080": f"127.0.0.1:{self.gateway.port}",
            "num_...": str(self.customer.number["id"]),
            "127.0.0.1:9000": self.receiver,
            '"127.0.0.1", 9000': f'"{host}", {port}',
            '9000, "127.0.0.1"': f'{port}, "{host}"',
        }
        for placeholder, value in known.items():
            text = text.replace(placeholder, value)
        return text

    def check_sending(self, folder: Path, command: Command) -> None:
        """The program prints the message's identifier, or the error's code if the key is wrong."""
        printed = self._run(folder, command, API_KEY=self.customer.key)
        [sent] = self.customer.request("GET", "/messages").json()["data"]
        assert (sent["toNumber"], printed.strip()) == (RECIPIENT, sent["id"])
        assert "UNAUTHORIZED" in self._run(folder, command, API_KEY="mk_live_wrong")

    def check_receiving(self, folder: Path, command: Command) -> None:
        """The program accepts an event signed by the gateway, and no other."""
        with self._running(folder, command) as logs:
            wait_for(self._refuses, "a receiver that refuses an unsigned event", START_SECONDS)
            to = self.customer.number["phoneNumber"]
            self.gateway.sandbox_call("inbound", to=to, text="Hello", **{"from": RECIPIENT})
            wait_for(
                lambda: any(f"from {RECIPIENT}" in log.read_text() for log in logs),
                "an event that is handled",
                START_SECONDS,
            )
            wait_for(self._delivered, "an event that is answered with 2xx")

    def check_following(self, folder: Path, command: Command, place: str) -> None:
        """The program prints an event after it has stored the place where it begins."""
        with self._running(folder, command) as logs:
            wait_for((folder / place).exists, "a stored place", START_SECONDS)
            to = self.customer.number["phoneNumber"]
            self.gateway.sandbox_call("inbound", to=to, text="Hello", **{"from": RECIPIENT})
            wait_for(lambda: f"from {RECIPIENT}" in logs[0].read_text(), "an event that is printed")

    def run(self, folder: Path, command: Command) -> list[str]:
        """The lines that a program prints which has the customer's key."""
        return self._run(folder, command, API_KEY=self.customer.key).splitlines()

    def _refuses(self) -> bool:
        event = {"event": "message.received"}
        try:
            response = requests.post(f"http://{self.receiver}/", json=event, timeout=START_SECONDS)
        except requests.ConnectionError:
            return False
        return response.status_code == HTTPStatus.UNAUTHORIZED

    def _delivered(self) -> bool:
        [webhook] = self.customer.request("GET", "/webhooks").json()["data"]
        path = f"/webhooks/{webhook['id']}/deliveries?status=delivered"
        return len(self.customer.request("GET", path).json()["data"]) == 1

    def _run(self, folder: Path, command: Command, **environment: str) -> str:
        done = subprocess.run(
            command,
            cwd=folder,
            env=tool_environment() | environment | {"PYTHONPATH": "client"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )
        return done.stdout

    @contextmanager
    def _running(self, folder: Path, command: Command) -> Iterator[tuple[Path, Path]]:
        """Run a receiver. Returns the files of its stdout and its stderr."""
        log, errors = folder / "receiver.log", folder / "receiver.err"
        secrets = {"WEBHOOK_SECRET": self.secret, "API_KEY": self.customer.key}
        environment = secrets | {"PYTHONPATH": "client"}
        # Two files, because a log line of one thread could split a line that another prints.
        with log.open("w") as printed, errors.open("w") as said:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=tool_environment() | environment,
                stdout=printed,
                stderr=said,
                start_new_session=True,
            )
        try:
            yield log, errors
        finally:
            # `node` may be a wrapper that starts the real program.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(START_SECONDS)
