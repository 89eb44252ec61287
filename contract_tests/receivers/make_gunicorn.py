"""A receiver that is 40 ms away and closes idle connections after 2 s fails no attempt: ``make receivers``.

Each message becomes a delivery to every webhook at once. The pauses between two messages end about when
gunicorn closes the connections.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.harness import WAIT_SECONDS, Customer
from contract_tests.parts import Parts, deployed
from contract_tests.receivers.distance import Distance
from contract_tests.receivers.gunicorn import KEEP_ALIVE_SECONDS, Gunicorn
from contract_tests.receivers.outcomes import outcomes
from contract_tests.relay import HOST

WEBHOOKS, MESSAGES = 40, 50
DISTANCE_SECONDS = 0.04
# Sending a message and its way to the worker take the rest of the time.
PAUSES = [KEEP_ALIVE_SECONDS - 0.01 * early for early in range(25)]

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    # A failed attempt is repeated soon, so that all failures are seen and not only the first.
    with deployed(tmp_path, GATEWAY_RETRY_SCHEDULE="0.5,0.5,0.5") as service:
        service.start_worker()
        yield service


def _subscribe(customer: Customer, port: int) -> None:
    for number in range(WEBHOOKS):
        hook = {"url": f"http://{HOST}:{port}/{number}", "events": ["message.sent"]}
        assert customer.request("POST", "/webhooks", json=hook).status_code == 201


def _deliver(customer: Customer, receiver: Gunicorn) -> None:
    """Send a message after each pause, and wait until all webhooks got it."""
    for number in range(MESSAGES):
        time.sleep(PAUSES[number % len(PAUSES)])
        assert customer.send("15580000001").ok
        receiver.wait((number + 1) * WEBHOOKS)


def test_a_receiver_that_closes_idle_connections_fails_no_attempt(parts: Parts) -> None:
    customer = parts.customer()
    with Gunicorn() as receiver, Distance(receiver.port, DISTANCE_SECONDS / 2) as distance:
        _subscribe(customer, distance.port)
        _deliver(customer, receiver)
        found = outcomes(parts, [customer], WEBHOOKS * MESSAGES, WAIT_SECONDS)
        arrived = receiver.deliveries()
    lost = distance.requests - len(arrived)
    print(  # noqa: T201 - the figures that this target is for
        f"\n  gunicorn, {DISTANCE_SECONDS * 1000:.0f} ms away: {len(arrived)} requests arrived, "
        f"{lost} more came to closed connections; {found.attempts} attempts, errors: {dict(found.errors)}"
    )
    assert lost > 0, "no connection was closed while a request was on its way"
    assert found.errors == {}
    assert found.delivered == set(arrived)
    assert found.attempts == len(found.delivered) == WEBHOOKS * MESSAGES
