"""Callbacks are ingested without a worker, and none is lost or ingested twice.

The latencies are printed (``pytest -rP``) but not asserted: they also depend on the machine.
"""

import statistics
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract_tests.callbacks.conftest import MESSAGE_KINDS
from contract_tests.callbacks.platform import SETTINGS, Platform, entry, messages
from contract_tests.harness import Receiver
from contract_tests.parts import Parts, deployed

CALLBACKS = 1_000
CONNECTIONS = 8
RESENT = 100  # The platform repeats callbacks. These come twice.
IN_ALL_SECONDS = 60


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A service without a worker."""
    with deployed(tmp_path, **SETTINGS) as parts:
        yield parts


def _text(index: int) -> dict[str, object]:
    at = str(int(time.time()))
    message = {"from": "16505551234", "id": f"wamid.{index}", "timestamp": at, "type": "text"}
    return message | {"text": {"body": f"text {index}"}}


def test_callbacks_are_ingested_without_a_worker_and_their_events_come_later(
    parts: Parts, receiver: Receiver
) -> None:
    customer = parts.customer()
    phone_number_id = parts.number_id_of(customer)
    body = {"url": receiver.url(), "events": MESSAGE_KINDS}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201
    platform = Platform(parts.url)

    def tell(index: int) -> float:
        began = time.perf_counter()
        platform.tell(entry("2001", messages(phone_number_id, messages=[_text(index)])))
        return (time.perf_counter() - began) * 1000

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        latencies = sorted(pool.map(tell, [*range(CALLBACKS), *range(RESENT)]))
    median, slowest = statistics.median(latencies), latencies[len(latencies) * 99 // 100]
    print(f"{len(latencies)} callbacks: median {median:.1f} ms, p99 {slowest:.1f} ms")  # noqa: T201
    page = customer.request("GET", "/messages", params={"limit": "1", "direction": "INBOUND"})
    assert page.json()["pagination"]["total"] == CALLBACKS
    assert receiver.requests == []
    parts.start_worker()
    events = receiver.wait(count=CALLBACKS, seconds=IN_ALL_SECONDS)
    told = Counter((r.event["event"], r.event["data"]["body"]["body"]) for r in events)
    assert told == Counter(("message.received", f"text {index}") for index in range(CALLBACKS))
    assert parts.cli("callbacks", "aside") == []
