"""Pending work survives a deleted queue and a disk that is full for a while.

For a clock that is set back or forward see tests/tasks/test_clock_jumps.py.
"""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.senders import Senders
from contract_tests.full_disk import Fill, fill_up, forbid_writing, may_mount, small_disk
from contract_tests.harness import Customer, Gateway, Receiver, running, wait_for
from gateway.http.exception_handlers import FULL_MESSAGE

MESSAGES = 40
KINDS = ["message.sent", "message.delivered", "message.read", "message.failed"]
# The quota works everywhere. A really full disk needs permission to mount one.
WAYS: dict[str, Fill] = {"quota": forbid_writing}
if may_mount():
    WAYS["full disk"] = fill_up


def _subscribe(customer: Customer, receiver: Receiver) -> None:
    body = {"url": receiver.url(), "events": KINDS}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201


def _send(customer: Customer, count: int = MESSAGES) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: customer.send(f"1556{n:07d}"), range(count))
        assert {answer.status_code for answer in answers} == {200}


def _events(receiver: Receiver) -> set[tuple[str, str]]:
    return {(r.event["event"], r.event["data"]["id"]) for r in receiver.at()}


@pytest.fixture
def unswept(tmp_path: Path) -> Iterator[Gateway]:
    """A service whose sweep runs only at its start, so that only the queue schedules work."""
    with running(tmp_path, GATEWAY_SWEEP_INTERVAL="3600") as gateway:
        yield gateway


def test_deliveries_continue_after_the_queue_files_are_deleted(
    unswept: Gateway, receiver: Receiver
) -> None:
    customer = unswept.customer()
    _subscribe(customer, receiver)
    for part in ("web", "worker"):
        unswept.stored.lose_queue()
        # One of them opens the queue now, the other has had it open since its start.
        unswept.kill(part)
        unswept.part(part)
        unswept.wait_for_web()
        seen = len(_events(receiver))
        assert customer.send("15561234567").status_code == 200
        receiver.wait(count=seen + 3)
    assert len(_events(receiver)) == 6


@pytest.fixture(params=sorted(WAYS))
def fill(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fill]:
    """One way to fill the disk."""
    way: str = request.param
    with small_disk(tmp_path / "var") if way == "full disk" else contextlib.nullcontext():
        yield WAYS[way]


@pytest.fixture
def gateway(fill: Fill, tmp_path: Path) -> Iterator[Gateway]:  # noqa: ARG001 - it makes the disk
    """A service on the disk that will be full."""
    with running(tmp_path, GATEWAY_RETRY_SCHEDULE=",".join(["0.5"] * 50)) as service:
        yield service


@pytest.mark.sqlite("the disk of DATA_DIR has the database")
def test_a_full_disk_loses_nothing_and_duplicates_no_send(
    gateway: Gateway, fill: Fill, receiver: Receiver
) -> None:
    customer = gateway.customer()
    _subscribe(customer, receiver)
    senders = Senders(customer, seed=1, total=MESSAGES)
    ledger = Ledger(gateway, customer)
    receiver.status = 500
    with senders.running():
        senders.progress.allow_more(MESSAGES // 2)
        wait_for(lambda: len(receiver.requests) > 5, "deliveries that wait for a retry")
        free = fill(gateway)
        # The clients retry, and the receiver recovers, while nothing can be stored.
        receiver.status = 200
        senders.progress.allow_more(MESSAGES)
        refused = senders.progress.repeats
        wait_for(lambda: senders.progress.repeats > refused + 20, "requests that fail")
        assert customer.request("GET", "/numbers").status_code == 200, "reading needs no room"
        assert customer.send("15561234567").json()["error"]["message"] == FULL_MESSAGE
        free()
    ledger.settle(seconds=60)
    assert _events(receiver) == ledger.due_events()
    assert set(ledger.delivery_states()) == {"delivered"}
    attempts = [
        (r.headers["x-service-delivery"], r.headers["x-service-attempt"]) for r in receiver.at()
    ]
    assert len(attempts) == len(set(attempts)), "an attempt was not recorded, and was repeated"
    to = [message["to"] for message in ledger.accepted()]
    assert len(to) == len(set(to))
    told = {m["id"] for m in ledger.messages() if m["status"] == "read"}
    assert set(senders.ids.values()) <= told
    assert "ended" not in gateway.log(), "it killed a part"
