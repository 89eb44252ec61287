"""Fixtures: one service for the whole suite, one with the default settings, and a web part for production.

The docstring of a test in this folder states the rule of the API that it verifies. If quotes surround the
rule, the words beside them say what follows from it.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests

from contract_tests.backends import redis
from contract_tests.conformance.events import Callbacks
from contract_tests.conformance.exchange import Api, Contract
from contract_tests.conformance.timelapse import Timelapse
from contract_tests.conformance.world import Hooks, Sandbox, new_recipient
from contract_tests.harness import (
    START_SECONDS,
    Customer,
    Gateway,
    Receiver,
    free_port,
    running,
    wait_for,
)

TUNED_BY_THE_HARNESS = (
    "GATEWAY_PLAN_LIMITS",
    "GATEWAY_WEBHOOK_LIMITS",
    "GATEWAY_SWEEP_INTERVAL",
    "SANDBOX_RETRY_CAP",
)


@pytest.fixture(scope="package")
def contract() -> Contract:
    """The contract."""
    return Contract()


@pytest.fixture(scope="package")
def callbacks(contract: Contract) -> Callbacks:
    """The events in the contract."""
    return Callbacks(contract.document)


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service with a retry schedule of a fraction of a second."""
    folder = tmp_path_factory.mktemp("conformance")
    with running(folder, GATEWAY_RETRY_SCHEDULE="0.1,0.2,0.3") as service:
        yield service


@pytest.fixture(scope="package")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service with the default limits and delays."""
    service = Gateway(tmp_path_factory.mktemp("shipped"))
    for name in TUNED_BY_THE_HARNESS:
        del service.environment[name]
    service.start()
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="package")
def production(gateway: Gateway, customer: Customer, contract: Contract) -> Iterator[Api]:
    """The customer's API at a second web part, which accepts public webhook addresses only."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "gateway", "web", "--port", str(port)],
        env=gateway.environment
        | {
            "GATEWAY_ALLOW_LOCAL_WEBHOOKS": "false",
            # Two web parts that count in their memory would be refused.
            "GATEWAY_RATE_LIMIT_URL": redis().url(0),
        },
        cwd=gateway.folder,
        stderr=subprocess.DEVNULL,
    )

    def is_ready() -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{port}/readyz", timeout=2).ok
        except requests.ConnectionError:
            return False

    try:
        wait_for(is_ready, "a ready web part", START_SECONDS)
        yield Api(f"http://127.0.0.1:{port}/api", customer.key, contract)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="package")
def customer(gateway: Gateway) -> Customer:
    """An account on the plan pro with an active number."""
    return gateway.customer()


@pytest.fixture(scope="package")
def other_customer(gateway: Gateway) -> Customer:
    """Another account, with an active number of its own."""
    return gateway.customer()


@pytest.fixture
def fresh(gateway: Gateway) -> Customer:
    """An account that no other test uses, without a number."""
    return gateway.customer(with_number=False)


@pytest.fixture
def api(customer: Customer, contract: Contract) -> Api:
    """The API with the customer's key."""
    return Api(customer.api, customer.key, contract)


@pytest.fixture
def other_api(other_customer: Customer, contract: Contract) -> Api:
    """The API with the other customer's key."""
    return Api(other_customer.api, other_customer.key, contract)


@pytest.fixture
def fresh_api(fresh: Customer, contract: Contract) -> Api:
    """The API with the key of an account that no other test uses."""
    return Api(fresh.api, fresh.key, contract)


@pytest.fixture
def anyone(gateway: Gateway, contract: Contract) -> Api:
    """The API without a key."""
    return Api(gateway.api, None, contract)


@pytest.fixture
def sandbox(gateway: Gateway) -> Sandbox:
    """The messaging network."""
    return Sandbox(gateway.sandbox)


@pytest.fixture
def hooks(api: Api, receiver: Receiver, callbacks: Callbacks) -> Iterator[Hooks]:
    """Creates webhooks of the customer that exist as long as the test."""
    made = Hooks(api, receiver, callbacks)
    yield made
    made.clear()


@pytest.fixture
def proven(
    api: Api,
    receiver: Receiver,
    callbacks: Callbacks,
    sandbox: Sandbox,
    number: dict[str, str],
) -> None:
    """The receiver's host has responded with 2xx. Otherwise its webhooks share few events a minute."""
    made = Hooks(api, receiver, callbacks)
    hook = made("message.received")
    sandbox.write(number["phoneNumber"], new_recipient())
    hook.wait_states("delivered", 1)
    made.clear()


@pytest.fixture
def timelapse(gateway: Gateway) -> Timelapse:
    """Makes single rows look hours older."""
    return Timelapse(gateway.stored)


@pytest.fixture
def number(customer: Customer) -> dict[str, str]:
    """The customer's number."""
    return dict(customer.number)
