"""Two workers on one database share the work, and do nothing twice."""

import contextlib
import functools
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from contract_tests.harness import Customer, Received, Receiver, Reply, wait_for
from contract_tests.parts import Parts, deployed, peers_of, ports_of

MESSAGES = 40
KINDS = ("message.sent", "message.delivered", "message.read")
PATHS = ("/one", "/two", "/three")
DELIVERIES = MESSAGES * len(KINDS) * len(PATHS)
# Every fourth first attempt fails, so that retries are shared as well.
FAILING_SHARE = 4
# The first worker may do all of a round before the other polls.
MAX_ROUNDS = 5


class Slow:
    """A receiver that is a little slow, fails sometimes, and records its clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._never = threading.Event()
        self._first = 0
        self.failed = 0

    def reply(self, received: Received) -> Reply:
        """Answer after a short delay."""
        with self._lock:
            is_first = received.headers["x-service-attempt"] == "1"
            self._first += is_first
            fails = is_first and self._first % FAILING_SHARE == 0
            self.failed += fails
        self._never.wait(0.05)
        return Reply(500 if fails else 200)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A service without a worker."""
    with deployed(tmp_path, GATEWAY_RETRY_SCHEDULE="0.2,0.2,0.2") as parts:
        yield parts


def _subscribe(customer: Customer, receiver: Receiver) -> None:
    for path in PATHS:
        body = {"url": receiver.url(path), "events": list(KINDS)}
        assert customer.request("POST", "/webhooks", json=body).status_code == 201


def _send(customer: Customer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: customer.send(f"1556{n:07d}"), range(MESSAGES))
        assert {answer.status_code for answer in answers} == {200}


def _has_queue(parts: Parts, pid: int) -> bool:
    """Whether a worker has started to read the queue."""
    url = parts.stored.queue_url
    if url:
        return urlsplit(url).port in peers_of(pid)
    for link in Path(f"/proc/{pid}/fd").iterdir():
        # A descriptor may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if str(link.readlink()).endswith("queue.db"):
                return True
    return False


def test_no_delivery_is_attempted_by_both_and_both_work(parts: Parts, receiver: Receiver) -> None:
    slow = Slow()
    receiver.reply = slow.reply
    customer = parts.customer()
    _subscribe(customer, receiver)
    workers = [parts.start_worker(), parts.start_worker()]
    wait_for(lambda: all(_has_queue(parts, w.pid) for w in workers), "both workers at the queue")
    ports: dict[int, set[int]] = {worker.pid: set() for worker in workers}

    def shares() -> list[int]:
        return [sum(r.peer in known for r in receiver.requests) for known in ports.values()]

    def all_came(deliveries: int) -> bool:
        for pid, known in ports.items():
            # Connections are closed after a while, so they are recorded while they exist.
            known.update(ports_of(pid))
        first = [r for r in receiver.requests if r.headers["x-service-attempt"] == "1"]
        return len(first) == deliveries and len(receiver.requests) == deliveries + slow.failed

    deliveries = 0
    while deliveries < MAX_ROUNDS * DELIVERIES and min(shares()) == 0:
        deliveries += DELIVERIES
        _send(customer)
        wait_for(functools.partial(all_came, deliveries), "all attempts", 60)
    for worker in workers:
        worker.terminate()
        assert worker.wait(20) == 0
    attempts = Counter(
        (r.headers["x-service-delivery"], r.headers["x-service-attempt"]) for r in receiver.requests
    )
    assert set(attempts.values()) == {1}
    assert len(attempts) == deliveries + slow.failed
    assert len({delivery for delivery, _ in attempts}) == deliveries
    # A free worker claims. The shares depend on the load of the machine.
    assert min(shares()) > 0, f"the workers' shares were {shares()}"
