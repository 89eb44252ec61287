"""Redis accepts data and answers nothing: sends and deliveries continue (ADR 6).

``SILENT_SECONDS`` sets how long Redis is silent.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract_tests.harness import Customer, Gateway, Receiver, running, wait_for
from contract_tests.relay import HOST, Relay
from contract_tests.servers import RedisServer

SECONDS = float(os.environ.get("SILENT_SECONDS", "5"))
# Few, because other tests run at the same time and the limits below are in seconds.
SENDS_A_SECOND = 20
KINDS = ("message.sent", "message.delivered", "message.read")

pytestmark = pytest.mark.timeout(120 + 2 * SECONDS)


@dataclass(frozen=True)
class Answered:
    """A send: its start and end in seconds of time.monotonic, and its message."""

    asked_at: float
    at: float
    status: int
    message_id: str


@dataclass(frozen=True)
class Silence:
    """The sends while Redis was silent, and the receiver of their events."""

    gateway: Gateway
    receiver: Receiver
    answers: list[Answered]

    def delays(self, kind: str) -> list[float]:
        """Seconds from each send's response to its event of this kind."""
        came = {r.event["data"]["id"]: r.at for r in self.receiver.at() if r.event["event"] == kind}
        return [came[answer.message_id] - answer.at for answer in self.answers]


def _send_all(customer: Customer) -> list[Answered]:
    began = time.time()

    def send(number: int) -> Answered:
        time.sleep(max(0.0, began + number / SENDS_A_SECOND - time.time()))
        asked_at = time.time()
        answer = customer.send(f"1558{number:07}")
        return Answered(asked_at, time.time(), answer.status_code, answer.json().get("id", ""))

    with ThreadPoolExecutor(4 * SENDS_A_SECOND) as threads:
        return list(threads.map(send, range(round(SECONDS * SENDS_A_SECOND))))


@pytest.fixture(scope="module")
def silence(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Silence]:
    folder: Path = tmp_path_factory.mktemp("silent-redis")
    receiver = Receiver()
    with RedisServer() as redis:
        relay = Relay(redis.port)
        url = f"redis://{HOST}:{relay.port}/0"
        settings = {
            "GATEWAY_QUEUE_URL": url,
            "GATEWAY_RATE_LIMIT_URL": url,
            "GATEWAY_PLAN_LIMITS": "pro=100000",
        }
        with running(folder, **settings) as gateway:
            customer = gateway.customer()
            hook = {"url": receiver.url(), "events": list(KINDS)}
            assert customer.request("POST", "/webhooks", json=hook).status_code == 201
            assert customer.send("15580000000").ok
            receiver.wait(count=len(KINDS))
            relay.swallow()
            answers = _send_all(customer)
            wait_for(lambda: len(receiver.at()) >= len(KINDS) * (len(answers) + 1), "all events")
            yield Silence(gateway, receiver, answers)
            relay.restore()
        relay.cut()
    receiver.close()


def test_every_send_is_answered_within_two_seconds(silence: Silence) -> None:
    assert {answer.status for answer in silence.answers} == {200}
    assert max(answer.at - answer.asked_at for answer in silence.answers) < 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_leaves_within_three_seconds(silence: Silence, kind: str) -> None:
    assert max(silence.delays(kind)) < 3


def test_no_delivery_is_recorded_as_failed_or_twice(silence: Silence) -> None:
    states = "SELECT state, attempt_count, COUNT(*) FROM delivery GROUP BY state, attempt_count"
    count = len(KINDS) * (len(silence.answers) + 1)

    def is_recorded() -> bool:
        return silence.gateway.stored.rows(states) == [("delivered", 1, count)]

    wait_for(is_recorded, "every delivery recorded once")
    assert len(silence.receiver.at()) == count
