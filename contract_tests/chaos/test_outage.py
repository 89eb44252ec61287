"""A web and a worker survive every outage of their servers without a restart, and continue at once."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from contract_tests.backends import REDIS
from contract_tests.chaos.engines import Engines, engines
from contract_tests.chaos.faults import outages
from contract_tests.harness import START_SECONDS, Customer, Receiver, wait_for
from contract_tests.parts import Parts, Process, deployed

OUTAGES = (
    "postgresql killed",
    "postgresql stopped",
    "postgresql stopped at once",
    "redis killed",
    "redis stopped",
)
# Both try at least twice a second, and the machine may be busy.
BACK_SECONDS = 5

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Service:
    """Web and worker, their servers, a customer and the customer's receiver."""

    parts: Parts
    worker: Process
    below: Engines
    customer: Customer
    receiver: Receiver

    def is_alive(self) -> bool:
        """Whether web and worker are still the processes that were started."""
        web = self.parts.process
        assert web is not None
        return web.poll() is None and self.worker.poll() is None

    def sends(self, to: str) -> bool:
        """Whether a message can be sent now."""
        return self.customer.send(to).ok


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    receiver = Receiver()
    folder = tmp_path_factory.mktemp("outage")
    with engines(REDIS) as below, deployed(folder, **below.direct) as parts:
        worker = parts.start_worker()
        customer = parts.customer()
        hook = {"url": receiver.url(), "events": ["message.read"]}
        assert customer.request("POST", "/webhooks", json=hook).status_code == 201
        started = Service(parts, worker, below, customer, receiver)
        assert started.sends("15580000009")
        wait_for(receiver.at, "an event", START_SECONDS)
        yield started
    receiver.close()


@pytest.mark.parametrize("name", OUTAGES)
def test_web_and_worker_survive_an_outage_and_continue_at_once(service: Service, name: str) -> None:
    recipient = f"1558000000{OUTAGES.index(name)}"
    outage = next(each for each in outages(service.below) if each.name == name)
    known = len(service.receiver.at())
    assert service.sends(recipient)
    with outage.happening():
        if outage.is_felt:
            wait_for(lambda: not service.sends(recipient), "a failing request")
        else:
            assert service.sends(recipient)
        # Long enough for both to have tried several times everywhere.
        time.sleep(1.5)
    wait_for(lambda: service.sends(recipient), "a message sent", BACK_SECONDS)
    wait_for(lambda: len(service.receiver.at()) >= known + 2, "both events", BACK_SECONDS)
    assert service.is_alive()


def test_the_outages_cover_every_server(service: Service) -> None:
    assert set(OUTAGES) == {outage.name for outage in outages(service.below)}
