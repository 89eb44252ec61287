"""A part of the service that hangs ends with its stacks in the log, and the service works again by itself.

tests/gateway/test_watched_parts.py has other ways to hang.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.harness import START_SECONDS, Customer, Gateway, Receiver, running, wait_for

HANGING = Path(__file__).parent / "hanging"
# The watchdog's time in seconds: longer than a busy machine delays a healthy part.
SECONDS = 4


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service whose processes hang when a test wishes it."""
    folder = tmp_path_factory.mktemp("hanging")
    settings = {
        "PYTHONPATH": os.pathsep.join([str(HANGING), os.environ.get("PYTHONPATH", "")]),
        "HANG": str(folder / "hang"),
        "GATEWAY_WATCHDOG_SECONDS": str(SECONDS),
    }
    with running(folder, **settings) as service:
        yield service


@pytest.fixture(scope="module")
def customer(gateway: Gateway) -> Customer:
    """An account whose events are delivered."""
    return gateway.customer()


def _hang(gateway: Gateway, part: str, how: str) -> int:
    """Hang a part. Returns its process id."""
    (gateway.folder / "hang").write_text(how)
    pid = gateway.part(part)
    os.kill(pid, signal.SIGUSR1)
    return pid


@pytest.mark.parametrize(
    ("part", "how", "name"),
    [
        ("web", "event loop", "the event loop"),
        ("worker", "round", "tasks.ingest"),
    ],
)
def test_a_part_that_hangs_is_started_again_and_the_service_works(
    gateway: Gateway, customer: Customer, receiver: Receiver, part: str, how: str, name: str
) -> None:
    body = {"url": receiver.url(), "events": ["message.sent", "message.read"]}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201
    begun = len(gateway.log())
    pid = _hang(gateway, part, how)
    log = wait_for(lambda: _log_since(gateway, begun, part), "another process", START_SECONDS)
    assert f'"message":"{name} ' in log
    assert '"stacks":"Thread ' in log
    assert gateway.part(part) != pid
    wait_for(gateway.is_ready, "a ready service", START_SECONDS)
    sent = customer.send("15551234567").json()["id"]
    receiver.wait(count=2, matching=lambda r: r.event["data"]["id"] == sent)


def _log_since(gateway: Gateway, begun: int, part: str) -> str:
    log = gateway.log()[begun:]
    return log if f"{part} ended (70); starting it again" in log else ""
