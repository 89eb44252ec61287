"""A reader of the log that stalls or ends stops nothing."""

import fcntl
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from contract_tests.harness import START_SECONDS, WAIT_SECONDS, Gateway, Receiver, wait_for
from contract_tests.processes import is_alive

# Their log lines fill a pipe of 4 KiB many times.
REQUESTS = 60
PARTS = ("web", "worker", "sandbox")


class Piped(Gateway):
    """``gateway up`` whose output is a small pipe."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reading, self._writing = os.pipe()
        fcntl.fcntl(self._writing, fcntl.F_SETPIPE_SZ, 4096)

    def launch_up(self) -> None:
        """Start everything. Only the service has the writing end."""
        ports = ["--port", str(self.port), "--sandbox-port", str(self.sandbox_port)]
        self.process = subprocess.Popen(
            [*self.program, "up", *self.options, *ports],
            env=self.environment,
            cwd=self.folder,
            stdout=self._writing,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.close(self._writing)

    def log(self) -> str:
        """Nobody reads it."""
        return ""


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Piped]:
    """A running service. Nobody reads its output."""
    gateway = Piped(tmp_path).start()
    yield gateway
    assert gateway.process is not None
    if gateway.process.poll() is None:
        gateway.process.kill()
        gateway.process.wait()


def _use(gateway: Piped, receiver: Receiver) -> None:
    """Many requests, and a message whose events arrive."""
    customer = gateway.customer()
    body = {"url": receiver.url(), "events": ["message.sent"]}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201
    for _ in range(REQUESTS):
        assert customer.request("GET", "/numbers").status_code == 200
    seen = len(receiver.requests)
    assert customer.send("15551234567").status_code == 200
    receiver.wait(count=seen + 1)


def _dropped(gateway: Piped) -> float:
    shown = requests.get(f"{gateway.url}/metrics", timeout=WAIT_SECONDS).text
    [lines] = re.findall(r"^gateway_log_dropped_total (\S+)$", shown, re.MULTILINE)
    return float(lines)


def test_the_service_works_and_stops_while_nobody_reads_its_log(
    piped: Piped, receiver: Receiver
) -> None:
    _use(piped, receiver)
    for part in PARTS:
        piped.kill(part)
    wait_for(piped.is_ready, "a ready service", START_SECONDS)
    _use(piped, receiver)
    assert piped.process is not None
    parts = [*map(piped.part, PARTS)]
    assert piped.stop() == 0
    assert not any(map(is_alive, parts))
    os.close(piped.reading)


def test_a_reader_that_ended_stops_nothing(piped: Piped, receiver: Receiver) -> None:
    os.close(piped.reading)
    assert piped.process is not None
    parts = [*map(piped.part, PARTS)]
    _use(piped, receiver)
    wait_for(lambda: _dropped(piped) > REQUESTS, "lines that are counted as dropped")
    assert [*map(piped.part, PARTS)] == parts
    piped.process.send_signal(signal.SIGTERM)
    assert piped.process.wait(START_SECONDS) == 0
