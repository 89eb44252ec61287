"""Fixtures: a phone and an account with a webhook for each test."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from contract_tests.chromium import Witness, launched
from contract_tests.harness import Customer, Gateway, Receiver, running
from contract_tests.phone.handset import Inbox, Phone, new_person, turn_knobs


@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A running service for all modules, because a start takes seconds."""
    with running(tmp_path_factory.mktemp("phone")) as service:
        yield service


@pytest.fixture(scope="module", autouse=True)
def _quick(gateway: Gateway) -> None:
    turn_knobs(gateway, status_delay_ms=20)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium for all modules. Their tests have separate contexts."""
    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab without data of other tests."""
    context = browser.new_context(viewport={"width": 420, "height": 900})
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def phone(page: Page, gateway: Gateway, customer: Customer) -> Iterator[Phone]:
    """A new person's phone. At the end there must be no browser error and no request to another host."""
    witness = Witness(page)
    phone = Phone(page, gateway, customer, new_person())
    phone.open()
    yield phone
    assert witness.hosts == {f"127.0.0.1:{gateway.sandbox_port}"}
    assert witness.complaints == []


@pytest.fixture
def inbox(phone: Phone, customer: Customer, receiver: Receiver) -> Iterator[Inbox]:
    """The account receives people's messages."""
    webhook = {"url": receiver.url(), "events": ["message.received"]}
    created = customer.request("POST", "/webhooks", json=webhook)
    assert created.status_code == 201, created.text
    yield Inbox(receiver, phone)
    customer.request("DELETE", f"/webhooks/{created.json()['id']}")
