"""Fixtures: a service whose platform is the test, and a receiver that accepts every event."""

from collections.abc import Iterator

import pytest

from contract_tests.callbacks.platform import SETTINGS, Platform
from contract_tests.conformance.events import Callbacks
from contract_tests.conformance.exchange import Contract
from contract_tests.harness import Customer, Gateway, Receiver, running

MESSAGE_KINDS = [f"message.{kind}" for kind in ("received", "sent", "delivered", "read", "failed")]


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service."""
    with running(tmp_path_factory.mktemp("callbacks"), **SETTINGS) as service:
        yield service


@pytest.fixture(scope="module")
def platform(gateway: Gateway) -> Platform:
    """The sender of callbacks."""
    return Platform(gateway.url)


@pytest.fixture(scope="module")
def phone_number_id(gateway: Gateway, customer: Customer) -> str:
    """The platform's identifier of the customer's number."""
    return gateway.number_id_of(customer)


@pytest.fixture(scope="module")
def all_events() -> Iterator[Receiver]:
    """A receiver for the whole module."""
    server = Receiver()
    yield server
    server.close()


@pytest.fixture(scope="module")
def secret(customer: Customer, all_events: Receiver) -> str:
    """The signing secret of a webhook for all message events."""
    body = {"url": all_events.url(), "events": MESSAGE_KINDS}
    answer = customer.request("POST", "/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


@pytest.fixture(scope="module")
def contract_events() -> Callbacks:
    """The events in the contract."""
    return Callbacks(Contract().document)
