"""``gateway listen`` next to a service that is stopped, killed and restarted: each event once, in order.

300 events. LISTEN_EVENTS sets another number.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.developer import Developer
from contract_tests.doc_blocks import BIN, blocks
from contract_tests.first_run import FirstRun
from contract_tests.harness import (
    WAIT_SECONDS,
    Customer,
    Gateway,
    Receiver,
    free_port,
    running,
    wait_for,
)
from messaging_gateway_client import Client

EVENTS = int(os.environ.get("LISTEN_EVENTS", "300"))
# The events of a message that is delivered and read.
EVENTS_OF_MESSAGE = 3
PERSON = "15551234567"
SENDERS = 4
CONFLICT = 409
QUIET_SECONDS = 3
PAGE = 100
# Long enough for 10,000 events.
SETTLE_SECONDS = WAIT_SECONDS + EVENTS / 20
STRANGERS_SECONDS = 60


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Gateway]:
    """A running service."""
    folder = tmp_path / "service"
    folder.mkdir()
    with running(folder) as gateway:
        yield gateway


@pytest.fixture
def customer(service: Gateway) -> Customer:
    """An account with a key and a number."""
    return service.customer()


@pytest.fixture
def developer(service: Gateway, customer: Customer, tmp_path: Path) -> Developer:
    """Signed in to that account, from another folder."""
    folder = tmp_path / "laptop"
    folder.mkdir()
    return Developer(folder, customer, service.environment)


def _stored(customer: Customer) -> list[str]:
    """Identifiers of all events of the account, in the order of the API."""
    with Client(customer.api, customer.key) as client:
        return [event["id"] for event in client.iterate_events(limit=PAGE)]


def _send(customer: Customer, number: int) -> None:
    """Send a text, even if the service is unreachable for a while: the key ensures that it is sent once."""

    def is_answered() -> bool:
        try:
            sent = customer.send(PERSON, f"Number {number}", key=f"listen-{number}")
        except requests.RequestException:
            return False
        # A message in progress when the web process was killed is never sent again.
        return sent.ok or sent.status_code == CONFLICT or "Idempotency-Replayed" in sent.headers

    wait_for(is_answered, f"message {number}", SETTLE_SECONDS)


def _settled(customer: Customer, messages: int) -> list[str]:
    """All events, once the messages have been read and no event is added for a while.

    Messages in progress when the web process was killed have an unknown outcome.
    """

    def is_read() -> bool:
        page = customer.request("GET", "/messages", params={"status": "read"}).json()
        return bool(page["pagination"]["total"] >= messages - SENDERS)

    wait_for(is_read, "the last status", SETTLE_SECONDS)
    known: list[str] = []
    while (found := _stored(customer)) != known:
        known = found
        time.sleep(QUIET_SECONDS)
    return known


class Listener:
    """A ``gateway listen`` process, which a test stops and restarts."""

    def __init__(self, developer: Developer, receiver: Receiver) -> None:
        self._developer = developer
        self._url = receiver.url()
        self.log = developer.folder / "listen.log"
        self.rows = developer.folder / "listen.out"
        self._process = self._start()
        self.wait(1)

    def wait(self, count: int) -> None:
        """Wait for its ``count``th connection."""

        def is_connected() -> bool:
            return self.log.read_text().count("Connected to") >= count

        wait_for(is_connected, f"connection {count} of listen", SETTLE_SECONDS)

    def _start(self, *more: str) -> "subprocess.Popen[str]":
        with self.rows.open("a") as rows:
            return self._developer.start("listen", "--forward-to", self._url, *more, stdout=rows)

    def stop(self) -> None:
        """Stop it like Ctrl-C."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(WAIT_SECONDS) == 0

    def restart(self) -> None:
        """Stop it, and continue where it stopped."""
        self.stop()
        self._process = self._start("--resume")


def _restart(service: Gateway) -> None:
    assert service.stop() == 0
    service.start()


@pytest.fixture
def listener(developer: Developer, receiver: Receiver) -> Iterator[Listener]:
    """A listen that is connected."""
    running = Listener(developer, receiver)
    yield running
    running._process.kill()
    running._process.wait()


@pytest.mark.timeout(SETTLE_SECONDS * 3 + 300)
def test_no_event_is_lost_or_doubled_over_restarts_of_the_service_and_of_listen(
    service: Gateway,
    customer: Customer,
    developer: Developer,
    receiver: Receiver,
    listener: Listener,
) -> None:
    before = len(_stored(customer))
    messages = EVENTS // EVENTS_OF_MESSAGE
    disturbances: list[Callable[[], object]] = [
        partial(service.kill, "web"),
        partial(_restart, service),
        listener.restart,
        partial(_restart, service),
    ]
    numbers = iter(range(messages))
    with ThreadPoolExecutor(SENDERS) as pool:
        for connection, disturb in enumerate(disturbances, start=1):
            some = islice(numbers, messages // len(disturbances))
            sent = [pool.submit(_send, customer, number) for number in some]
            listener.wait(connection)
            sent[len(sent) // 2].result()
            disturb()
        for number in numbers:
            _send(customer, number)
    events = _settled(customer, messages)[before:]
    assert len(set(events)) == len(events) >= (messages - SENDERS) * EVENTS_OF_MESSAGE
    received = receiver.wait(count=len(events), seconds=SETTLE_SECONDS)
    listener.stop()
    assert [each.headers["webhook-id"] for each in receiver.at()] == events
    secret = developer.signed_in["signingSecret"]
    assert all(each.is_signed_with(secret) for each in received)
    assert len(listener.rows.read_text().splitlines()) == len(events)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def up(tmp_path: Path) -> Iterator[FirstRun]:
    """``gateway up`` as a new user starts it."""
    first = FirstRun(tmp_path)
    first.environment |= {
        "GATEWAY_PROFILE": str(tmp_path / "laptop" / "profile.json"),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    first.start()
    yield first
    first.end(signal.SIGTERM)


def test_four_documented_commands_deliver_a_verified_event_to_a_laptop(
    up: FirstRun, capsys: pytest.CaptureFixture[str]
) -> None:
    began, port = time.monotonic(), str(free_port())
    shown = next(block.text for block in blocks("docs/cli.md") if "trigger" in block.text)
    given = shown.replace("9000", port).replace(".venv/bin/python", sys.executable)
    login, receive, listen, trigger = given.splitlines()
    program = next(
        block.text for block in blocks("docs/quickstart.md") if "verify_and_parse" in block.text
    )
    (up.folder / "receiver.py").write_text(program.replace("9000", port))
    with ExitStack() as stack:

        def start(line: str, **more: Any) -> "subprocess.Popen[str]":
            process: subprocess.Popen[str] = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], cwd=up.folder, env=up.environment, text=True, **more
            )
            # Closes its pipes and waits for its end.
            stack.enter_context(process)
            stack.callback(process.terminate)
            return process

        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        printed, _ = start(login, **pipes).communicate(f"{up.printed('API key')}\n", WAIT_SECONDS)
        secret = printed.split()[-1]
        receiver = start(f"env {receive.replace('whsec_...', secret)}", stdout=subprocess.PIPE)
        wait_for(lambda: _is_open(int(port)), "the receiver")
        with (up.folder / "listen.log").open("w") as log:
            start(listen, stderr=log)
        wait_for(lambda: "Connected to" in Path(log.name).read_text(), "a connected listen")
        assert start(trigger).wait(WAIT_SECONDS) == 0
        assert receiver.stdout is not None
        verified = json.loads(receiver.stdout.readline())
        took = time.monotonic() - began
    assert verified["event"] == "message.received"
    assert took < STRANGERS_SECONDS
    with capsys.disabled():
        sys.stdout.write(f"\nfrom the service to a verified event on a laptop: {took:.1f} s\n")
