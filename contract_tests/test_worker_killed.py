"""What a killed worker had in hand is attempted again soon, long before the end of its lease."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.harness import Gateway, Received, Receiver, Reply, running, wait_for

MESSAGES = 5
# The lease lasts 20 s longer.
TIMEOUT_SECONDS = 60
# The start of a worker on a busy machine, and the heartbeats that it waits for.
SECONDS = 30


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """A service with long leases."""
    with running(tmp_path, GATEWAY_DELIVERY_TIMEOUT=str(TIMEOUT_SECONDS)) as service:
        yield service


def test_a_killed_workers_deliveries_do_not_wait_for_the_end_of_their_lease(
    gateway: Gateway, receiver: Receiver
) -> None:
    released = threading.Event()

    def reply(received: Received) -> Reply:
        if received.headers["x-service-attempt"] == "1":
            released.wait(2 * TIMEOUT_SECONDS)
        return Reply(200)

    receiver.reply = reply
    customer = gateway.customer()
    webhook = {"url": receiver.url(), "events": ["message.sent"]}
    assert customer.request("POST", "/webhooks", json=webhook).status_code == 201
    for number in range(MESSAGES):
        assert customer.send(f"1556123000{number}").status_code == 200
    receiver.wait(count=MESSAGES)
    gateway.kill("worker")
    try:
        wait_for(lambda: len(receiver.at()) == 2 * MESSAGES, "second attempts", SECONDS)
    finally:
        released.set()
    again = [r for r in receiver.at() if r.headers["x-service-attempt"] == "2"]
    assert len({r.headers["x-service-delivery"] for r in again}) == MESSAGES
    # The worker logs it after the deliveries are due: they may be attempted earlier.
    logged = f"died: {MESSAGES} deliveries are attempted again"
    wait_for(lambda: logged in gateway.log(), logged)
