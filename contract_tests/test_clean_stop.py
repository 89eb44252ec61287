"""SIGTERM under load: no new work starts, running work ends, and nothing is lost or duplicated."""

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contract_tests.harness import (
    START_SECONDS,
    Customer,
    Gateway,
    Received,
    Receiver,
    Reply,
    running,
    wait_for,
)
from contract_tests.parts import Parts, deployed, seconds_to_end

MESSAGES = 60
DELIVERY_TIMEOUT = 3
# In seconds. A stopped worker first ends its attempts, which take up to DELIVERY_TIMEOUT, and has 2 s more.
LONGEST_STOP = DELIVERY_TIMEOUT + 2
# The longest time until a request arrives that was claimed at the moment of the signal.
ON_ITS_WAY = 1.0
# A worker logs this before it waits for its attempts.
STOPPING = "running attempts finish"
HANGING, SLOW, QUICK = "/hanging", "/slow", "/quick"
SETTINGS = {
    "GATEWAY_DELIVERY_TIMEOUT": str(DELIVERY_TIMEOUT),
    "GATEWAY_RETRY_SCHEDULE": "0.2,0.2,0.2",
}

# A worker that delivers before it has started all its threads, and continues at a line from its parent.
SLOW_START = """
from gateway.cli import cli
from gateway.ops.rounds import Rounds

start = Rounds.start

def start_later(rounds):
    if rounds.name == "the consumer of the queue":
        input()
    start(rounds)

Rounds.start = start_later
cli(["worker"])
"""


# A worker that gets a signal in another thread, at a line from its parent. So the signal interrupts no wait
# of the main thread, like one that comes just before the wait.
UNNOTICED = """
import signal, threading
from gateway.cli import cli

def signal_this_thread():
    input()
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=signal_this_thread, daemon=True).start()
cli(["worker"])
"""


class Load:
    """A receiver with paths that hang, take a moment, or answer at once."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self._healed = threading.Event()
        self._never = threading.Event()
        self._lock = threading.Lock()
        self.answered: Counter[str] = Counter()
        receiver.reply = self._reply

    def heal(self) -> None:
        """Release all hanging requests."""
        self._healed.set()

    def send(self, customer: Customer) -> None:
        """Give the worker more work than it can finish before it is stopped."""
        for path in (HANGING, SLOW, QUICK):
            body = {"url": self.receiver.url(path), "events": ["message.sent"]}
            assert customer.request("POST", "/webhooks", json=body).status_code == 201
        with ThreadPoolExecutor(8) as pool:
            answers = pool.map(lambda n: customer.send(f"1556{n:07d}"), range(MESSAGES))
            assert {answer.status_code for answer in answers} == {200}

    def is_heavy(self) -> bool:
        """Whether attempts hang, and others are running."""
        return bool(self.receiver.at(HANGING)) and len(self.receiver.at(SLOW)) > 10

    def _reply(self, received: Received) -> Reply:
        if received.path == HANGING:
            self._healed.wait(LONGEST_STOP + 5)
        if received.path == SLOW:
            self._never.wait(0.4)
        with self._lock:
            self.answered[received.path] += 1
        return Reply(200)

    def check_all_arrived(self, *, once: tuple[str, ...]) -> None:
        """Every delivery arrived, and those on the paths ``once`` exactly once."""
        for path in (HANGING, SLOW, QUICK):
            came = Counter(r.headers["x-service-delivery"] for r in self.receiver.at(path))
            assert len(came) == MESSAGES, path
            assert path not in once or set(came.values()) == {1}, path


@pytest.fixture
def load(receiver: Receiver) -> Iterator[Load]:
    """The work of the worker."""
    made = Load(receiver)
    yield made
    made.heal()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """Web and sandbox."""
    with deployed(tmp_path_factory.mktemp("stops"), **SETTINGS) as parts:
        yield parts


@pytest.fixture
def parts(service: Parts) -> Iterator[Parts]:
    """The same, without a worker and without a delivery."""
    for table in ("attempt", "delivery"):
        service.stored.change(f"DELETE FROM {table}")  # noqa: S608 - our own words
    yield service
    service.stop_workers()


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """``gateway up``."""
    with running(tmp_path, **SETTINGS) as service:
        yield service


@pytest.fixture
def answers(receiver: Receiver) -> threading.Event:
    """The receiver answers when it is set."""
    event = threading.Event()

    def answer_late(_received: Received) -> Reply:
        event.wait(DELIVERY_TIMEOUT)
        return Reply(200)

    receiver.reply = answer_late
    return event


def _customer(parts: Parts, receiver: Receiver, kind: str) -> Customer:
    """A customer with a webhook for these events."""
    customer = parts.customer()
    body = {"url": receiver.url(), "events": [kind]}
    assert customer.request("POST", "/webhooks", json=body).status_code == 201
    return customer


def _count(gateway: Gateway, condition: str) -> int:
    return gateway.stored.count("delivery", condition)


def _check_nothing_is_half_done(gateway: Gateway, load: Load, stopped_at: float) -> None:
    late = [r for r in load.receiver.requests if r.at > stopped_at + ON_ITS_WAY]
    assert late == [], "something was claimed after the signal"
    assert _count(gateway, "lease_token IS NOT NULL") == 0
    assert _count(gateway, "state = 'pending'") > 0, "there was too little to do"
    # Every response of a receiver was recorded.
    assert _count(gateway, "state = 'delivered'") == load.answered[SLOW] + load.answered[QUICK]
    assert len(load.receiver.at(SLOW)) == load.answered[SLOW]


def _wait_until_delivered(gateway: Gateway) -> None:
    wait_for(lambda: _count(gateway, "state != 'delivered'") == 0, "all deliveries", 60)


def test_a_stopped_worker_records_all_responses_and_the_next_finishes_the_rest(
    parts: Parts, load: Load
) -> None:
    load.send(parts.customer())
    worker = parts.start_worker()
    wait_for(load.is_heavy, "a load")
    stopped_at = time.time()
    assert seconds_to_end(worker) < LONGEST_STOP
    _check_nothing_is_half_done(parts, load, stopped_at)
    load.heal()
    parts.start_worker()
    _wait_until_delivered(parts)
    load.check_all_arrived(once=(SLOW, QUICK))


def test_gateway_up_ends_in_time_under_load_and_the_next_finishes_the_rest(
    gateway: Gateway, load: Load
) -> None:
    load.send(gateway.customer())
    wait_for(load.is_heavy, "a load")
    assert gateway.process is not None
    stopped_at = time.time()
    assert seconds_to_end(gateway.process) < LONGEST_STOP
    _check_nothing_is_half_done(gateway, load, stopped_at)
    load.heal()
    gateway.start()
    _wait_until_delivered(gateway)
    load.check_all_arrived(once=(SLOW, QUICK))


def test_a_worker_without_work_ends_at_once(parts: Parts, receiver: Receiver) -> None:
    customer = _customer(parts, receiver, "message.read")
    worker = parts.start_worker()
    assert customer.send("15561234567").status_code == 200
    receiver.wait_kind("message.read")
    _wait_until_delivered(parts)
    assert seconds_to_end(worker) < 2


@pytest.mark.parametrize(
    "signals",
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM), (signal.SIGHUP,)],
    ids=["twice", "Ctrl-C and SIGTERM", "SIGHUP"],
)
def test_an_outcome_that_comes_after_all_signals_is_recorded(
    parts: Parts,
    receiver: Receiver,
    answers: threading.Event,
    signals: tuple[signal.Signals, ...],
) -> None:
    customer = _customer(parts, receiver, "message.sent")
    worker = parts.start_worker()
    assert customer.send("15561234567").status_code == 200
    receiver.wait()
    ends = parts.log().count(STOPPING)
    worker.send_signal(signals[0])
    wait_for(lambda: parts.log().count(STOPPING) > ends, "the wait for the attempt")
    for number in signals[1:]:
        worker.send_signal(number)
    answers.set()
    assert worker.wait(LONGEST_STOP) == 0
    assert _count(parts, "state = 'delivered'") == 1
    assert _count(parts, "lease_token IS NOT NULL") == 0


def test_a_worker_that_is_stopped_while_it_starts_finishes_what_it_began(
    parts: Parts, receiver: Receiver, answers: threading.Event
) -> None:
    customer = _customer(parts, receiver, "message.sent")
    assert customer.send("15561234567").status_code == 200
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_START],
        env=parts.environment,
        cwd=parts.folder,
        stdin=subprocess.PIPE,
        text=True,
    ) as worker:
        try:
            receiver.wait(seconds=START_SECONDS)
            worker.terminate()
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
            answers.set()
            assert worker.wait(LONGEST_STOP) == 0
        finally:
            worker.kill()
    assert _count(parts, "state = 'delivered'") == 1
    assert _count(parts, "lease_token IS NOT NULL") == 0


def test_a_signal_that_interrupts_no_wait_stops_the_worker(
    parts: Parts, receiver: Receiver, answers: threading.Event
) -> None:
    answers.set()
    customer = _customer(parts, receiver, "message.sent")
    with subprocess.Popen(
        [sys.executable, "-c", UNNOTICED],
        env=parts.environment,
        cwd=parts.folder,
        stdin=subprocess.PIPE,
        text=True,
    ) as worker:
        try:
            assert customer.send("15561234567").status_code == 200
            receiver.wait(seconds=START_SECONDS)
            # By now the main thread only waits.
            time.sleep(1)
            worker.communicate("\n", timeout=LONGEST_STOP)
        finally:
            worker.kill()
    assert worker.returncode == 0
