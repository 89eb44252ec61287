"""The first minutes with the service: ``gateway up`` in an empty folder."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from contract_tests.first_run import LAST_LINE, FirstRun
from contract_tests.harness import (
    WAIT_SECONDS,
    Customer,
    Received,
    Receiver,
    free_port,
    wait_for,
)

STATUSES = ("message.sent", "message.delivered", "message.read")
PARTS = ("web", "worker", "sandbox")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRun]:
    """One first run, shared by the tests of this module."""
    first = FirstRun(tmp_path_factory.mktemp("first"))
    first.start()
    yield first
    first.end(signal.SIGTERM)


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[FirstRun]:
    """A first run that a test starts and stops itself."""
    first = FirstRun(tmp_path)
    yield first
    if first.process is not None and first.process.poll() is None:
        first.process.kill()
        first.process.wait()


def create_webhook(customer: Customer, receiver: Receiver) -> str:
    """A webhook for all message events. Returns its secret."""
    body = {"url": receiver.url(), "events": [*STATUSES, "message.received"]}
    created = customer.request("POST", "/webhooks", json=body)
    assert created.status_code == 201, created.text
    secret: str = created.json()["secret"]
    return secret


def run_curl(line: str) -> dict[str, str]:
    """Paste a line into a shell and return the JSON of its output."""
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def curl_line(up: FirstRun) -> str:
    """The line from the greeting."""
    return next(line for line in up.greeting().splitlines() if line.startswith("curl "))


def is_about(message_id: str, received: Received) -> bool:
    """Whether an event is about this message."""
    return bool(received.event["data"]["id"] == message_id)


def test_the_greeting_lists_addresses_key_and_account(up: FirstRun) -> None:
    assert up.printed("Base URL") == up.api
    assert requests.get(up.printed("Swagger UI"), timeout=WAIT_SECONDS).ok
    assert requests.get(up.printed("Reference"), timeout=WAIT_SECONDS).ok
    assert requests.get(up.printed("Dashboard"), timeout=WAIT_SECONDS).ok
    assert up.printed("Email") == "demo@example.com"
    assert re.fullmatch(r"[A-Za-z0-9_-]{24}", up.printed("Password"))
    assert re.fullmatch(r"mk_live_[A-Za-z0-9_-]{43}", up.printed("API key"))
    demo = up.demo()
    assert demo.number["status"] == "ACTIVE"
    listed = demo.request("GET", "/numbers").json()["data"]
    assert [(n["id"], n["phoneNumber"], n["status"]) for n in listed] == [
        tuple(demo.number.values())
    ]


def test_no_log_line_interrupts_the_greeting(up: FirstRun) -> None:
    printed = up.greeting()
    assert '"logger"' not in printed[printed.index("Base URL") : printed.index(LAST_LINE)]


def test_the_printed_curl_line_sends_and_signed_events_come_within_a_second(
    up: FirstRun, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = create_webhook(up.demo(), receiver)
    start = time.time()
    sent = run_curl(curl_line(up))
    assert set(sent) == {"id", "wa_message_id", "status"}
    assert sent["status"] == "sent"
    events = receiver.wait(count=3, matching=lambda r: is_about(sent["id"], r))
    assert sorted(r.event["event"] for r in events) == sorted(STATUSES)
    assert all(r.is_signed_with(secret) for r in events)
    first = min(r.at for r in events) - start
    with capsys.disabled():
        sys.stdout.write(f"\nfrom send to first event: {first * 1000:.0f} ms\n")
    assert first < 1


def test_a_recipients_message_in_the_sandbox_arrives(up: FirstRun, receiver: Receiver) -> None:
    demo = up.demo()
    secret = create_webhook(demo, receiver)
    text = {"type": "text", "text": "It is still open."}
    up.sandbox_call("inbound", **{"to": demo.number["phoneNumber"], "from": "15551234567"}, **text)
    received = receiver.wait_kind("message.received")[0]
    assert received.is_signed_with(secret)
    message = received.event["data"]
    assert (message["numberId"], message["direction"]) == (demo.number["id"], "INBOUND")
    assert (message["fromNumber"], message["body"]) == ("15551234567", {"body": text["text"]})


@pytest.mark.parametrize("part", PARTS)
def test_a_killed_part_is_restarted_and_logged(up: FirstRun, receiver: Receiver, part: str) -> None:
    secret = create_webhook(up.demo(), receiver)
    before = up.part(part)
    up.kill(part)
    wait_for(lambda: f"{part} ended (-9); starting it again" in up.log(), f"word of the {part}")
    assert up.part(part) != before
    wait_for(up.is_ready, "a ready service")
    sent = up.demo().send("15551234567").json()
    events = receiver.wait(count=3, matching=lambda r: is_about(sent["id"], r))
    assert all(r.is_signed_with(secret) for r in events)


def test_a_second_up_keeps_the_data_and_shows_how_to_get_a_new_key(stopped: FirstRun) -> None:
    stopped.start()
    demo = stopped.demo()
    message = demo.send("15551234567").json()
    parts = {stopped.part(name) for name in PARTS}
    assert parts < stopped.processes()

    assert stopped.end(signal.SIGTERM) == 0
    assert stopped.processes() == set()
    assert stopped.log().endswith("Stopped.\n")

    stopped.start()
    assert "mk_live_" not in stopped.greeting()
    assert re.search(r" gateway demo$", stopped.greeting(), re.MULTILINE)
    new_key = stopped.cli("demo")["key"]
    again = Customer(demo.account_id, new_key, demo.api, demo.number)
    for known in (demo, again):
        assert known.request("GET", f"/messages/{message['id']}").json()["id"] == message["id"]
    assert [n["id"] for n in stopped.cli("numbers", "list")] == [demo.number["id"]]

    assert stopped.end(signal.SIGINT) == 0
    assert stopped.processes() == set()
    assert "Traceback" not in stopped.log()


@pytest.mark.parametrize("taken", ["--port", "--sandbox-port"])
def test_a_port_in_use_gives_one_line_and_status_1(tmp_path: Path, taken: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ports = {"--port": str(free_port()), "--sandbox-port": str(free_port()), taken: str(port)}
        line = run_up(tmp_path, *(word for pair in ports.items() for word in pair))
    assert f"port {port} " in line
    assert "in use" in line


def test_one_port_for_two_parts_gives_one_line_and_status_1(tmp_path: Path) -> None:
    port = str(free_port())
    assert "cannot share one port" in run_up(tmp_path, "--port", port, "--sandbox-port", port)


def run_up(folder: Path, *options: str) -> str:
    """Run an ``up`` that cannot start. Returns its only line of output."""
    first = FirstRun(folder)
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "up", *options],
        env=first.environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert first.processes() == set()
    return done.stderr
