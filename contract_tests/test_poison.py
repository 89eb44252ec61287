"""Work that kills its worker each time is set aside after its last attempt. Other work continues."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import requests

from contract_tests.harness import START_SECONDS, WAIT_SECONDS, Customer, Receiver, Reply
from contract_tests.parts import Parts, Process, deployed
from contract_tests.receiver import Received
from models.deliveries.attempt import NO_OUTCOME
from models.deliveries.claim import LEAST_TRIES
from models.messages.callback import MAX_TRIES
from services.number_status import MAX_TRIES as MAX_CHECKS
from services.receiving import MOST_BYTES

# A worker that a callback with this text, or any check of a number, kills.
WORKER = """
import os, signal, sys
from gateway.cli import main
from networks.whatsapp.cloud_api import CloudApi
from services import number_checks

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def parse(network, body, now, parse=CloudApi.parse):
    return die() if b"poison" in body else parse(network, body, now)

CloudApi.parse, number_checks.network_of = parse, lambda number: die()
sys.argv = ["gateway", "worker"]
main()
"""
# Leases of the dead worker expire at once.
END_LEASES = (
    "UPDATE delivery SET next_attempt_at = 0 WHERE lease_token IS NOT NULL",
    "UPDATE callback SET due_at = 0 WHERE lease_token IS NOT NULL",
    "UPDATE number SET check_due_at = 0 WHERE check_tries > 0",
)


@dataclass
class Service:
    """A service whose worker the test starts, its customer, and the customer's receiver."""

    parts: Parts
    customer: Customer
    receiver: Receiver
    worker: Process | None = None
    sent: int = 0

    def write(self, text: str) -> None:
        """A person writes to the number."""
        url = f"{self.parts.sandbox}/_sandbox/inbound"
        body = {"to": self.customer.number["phoneNumber"], "from": "15551230000", "type": "text"}
        answer = requests.post(url, json=body | {"text": {"body": text}}, timeout=WAIT_SECONDS)
        assert answer.ok, answer.text

    def live_through(self, is_over: Callable[[], bool]) -> int:
        """Restart the worker each time it dies. Returns the number of its deaths."""
        deaths = 0
        while True:
            self.write("healthy")
            self.sent += 1
            self.worker = subprocess.Popen(
                [sys.executable, "-c", WORKER], env=self.parts.environment, text=True
            )
            while self.worker.poll() is None:
                if is_over() and self._all_others_came():
                    self.worker.terminate()
                    assert self.worker.wait(START_SECONDS) == 0
                    return deaths
                time.sleep(0.05)
            deaths += 1
            assert deaths < 20, "the poison is retried for ever"
            for statement in END_LEASES:
                self.parts.stored.change(statement)

    def _all_others_came(self) -> bool:
        texts = [received.event["data"]["body"] for received in self.receiver.at()]
        return texts.count({"body": "healthy"}) >= self.sent


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    receiver = Receiver()
    with deployed(tmp_path_factory.mktemp("poison"), GATEWAY_DELIVERY_TIMEOUT="2") as parts:
        customer = parts.customer()
        made = Service(parts, customer, receiver)
        hook = {"url": receiver.url(), "events": ["message.received"]}
        assert customer.request("POST", "/webhooks", json=hook).status_code == 201
        yield made
        if made.worker is not None and made.worker.poll() is None:
            made.worker.kill()
            made.worker.wait()
    receiver.close()


def test_a_delivery_that_kills_the_worker_is_set_aside(service: Service) -> None:
    def reply(received: Received) -> Reply:
        if received.event["data"]["body"] == {"body": "deadly"} and service.worker is not None:
            os.kill(service.worker.pid, signal.SIGKILL)
        return Reply(200)

    service.receiver.reply = reply
    service.write("deadly")
    stored = service.parts.stored
    deaths = service.live_through(lambda: bool(stored.count("delivery", "state = 'failed'")))
    assert deaths == LEAST_TRIES
    errors = stored.rows(
        "SELECT error FROM attempt JOIN delivery ON delivery.id = delivery_id"
        " WHERE state = 'failed'"
    )
    assert errors == [(NO_OUTCOME,)] * LEAST_TRIES


def test_a_callback_that_kills_the_worker_is_set_aside(service: Service) -> None:
    # The web process leaves large callbacks to the worker.
    service.write("poison".ljust(MOST_BYTES))
    stored = service.parts.stored
    deaths = service.live_through(lambda: bool(stored.count("set_aside", "reason = 'failed'")))
    assert deaths == MAX_TRIES
    assert stored.rows("SELECT error FROM set_aside") == [(NO_OUTCOME,)]


def test_a_number_check_that_kills_the_worker_is_set_aside(service: Service) -> None:
    stored = service.parts.stored
    stored.change("UPDATE number SET check_due_at = 0, check_tries = 0")
    set_aside = f"check_tries > {MAX_CHECKS} AND check_due_at > 1000000000000"
    assert service.live_through(lambda: bool(stored.count("number", set_aside))) == MAX_CHECKS
