"""The clock of one process jumps while the service works: no key is forgotten, and nothing is deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract_tests.chaos.clocks import PARTS, Clocks
from contract_tests.harness import Gateway, running, wait_for

HOUR = 3_600
JUMPS = (25 * HOUR, 31 * 24 * HOUR, -HOUR)
BEATS = "SELECT at FROM heartbeat"


@pytest.fixture
def clocks(tmp_path: Path) -> Clocks:
    return Clocks(tmp_path / "clocks")


@pytest.fixture
def gateway(tmp_path: Path, clocks: Clocks) -> Iterator[Gateway]:
    folder = tmp_path / "service"
    folder.mkdir()
    with running(folder, GATEWAY_SWEEP_INTERVAL="0.5", **clocks.environment) as started:
        yield started


def _sweep(gateway: Gateway) -> None:
    """Wait for a whole round of the sweep, which ends with its heartbeat."""
    seen: set[object] = set()

    def has_ended() -> bool:
        seen.update(gateway.stored.rows(BEATS))
        return len(seen) > 2

    wait_for(has_ended, "a sweep that began after this")


def test_a_clock_that_jumps_deletes_nothing_and_sends_nothing_twice(
    gateway: Gateway, clocks: Clocks
) -> None:
    customer = gateway.customer()
    first = [customer.send(f"1557000000{n}", key=f"key-{n}").json() for n in range(3)]
    wait_for(lambda: gateway.stored.count("message", "status = 'read'") == 3, "statuses")
    for part in PARTS:
        for jump in JUMPS:
            with clocks.jumped(part, jump):
                _sweep(gateway)
                again = [customer.send(f"1557000000{n}", key=f"key-{n}") for n in range(3)]
                assert [answer.json() for answer in again] == first
            _sweep(gateway)
    assert gateway.stored.count("message") == 3
    assert gateway.stored.count("idempotency_key") == 3
