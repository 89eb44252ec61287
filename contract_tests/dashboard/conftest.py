"""Fixtures: a running service, and accounts whose users sign in with HTTP requests or in a browser."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from contract_tests.chromium import Witness, launched
from contract_tests.dashboard.person import Person
from contract_tests.harness import Customer, Gateway, running
from tests.mail_server import MailServer

# All tests of a module have one address and may open many pages.
LIMITS = "anonymous=100000,starter=100000,pro=100000"
SETTINGS = {"GATEWAY_PLAN_LIMITS": LIMITS, "GATEWAY_RETRY_SCHEDULE": "0.2,0.2,0.2"}
Enrol = Callable[..., Person]
# Emails are unique in a service, which modules share.
_counter = itertools.count(1)


@pytest.fixture(scope="package")
def mail() -> Iterator[MailServer]:
    """The operator's mail server."""
    with MailServer() as server:
        yield server


def mailing(mail: MailServer) -> dict[str, str]:
    """The settings of a service that uses this mail server."""
    return {"GATEWAY_SMTP_URL": mail.url(), "GATEWAY_SMTP_FROM": "gateway@example.com"}


# One for all modules, because a start takes seconds. A module that counts or breaks things
# of the service has its own fixture of this name.
@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory, mail: MailServer) -> Iterator[Gateway]:
    """A running service with a short retry schedule."""
    folder: Path = tmp_path_factory.mktemp("gateway")
    with running(folder, **SETTINGS, **mailing(mail)) as service:
        yield service


@pytest.fixture(scope="module")
def owner(gateway: Gateway) -> Customer:
    """An account of this module, with a number and a key."""
    return gateway.customer()


@pytest.fixture(scope="module")
def enrol(gateway: Gateway, owner: Customer) -> Enrol:
    """A new user at each call, of ``owner`` or of another account."""

    def make(account_id: str = owner.account_id, role: str = "owner") -> Person:
        email = f"person-{next(_counter)}@example.com"
        made = gateway.cli("users", "create", email, "--account", account_id, "--role", role)
        assert set(made) == {"id", "email", "accountId", "role", "password", "createdAt"}
        return Person(gateway.url, email, made["password"])

    return make


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium for all modules. Their tests have separate contexts."""
    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, gateway: Gateway) -> Iterator[Page]:
    """A separate browser. At the end there must be no browser error and no request to another host."""
    # Pages show times in the browser's time zone, by default the machine's.
    context = browser.new_context(
        base_url=gateway.url,
        permissions=["clipboard-read", "clipboard-write"],
        timezone_id="UTC",
    )
    page = context.new_page()
    witness = Witness(page)
    yield page
    context.close()
    assert witness.complaints == []
    assert witness.hosts <= {gateway.url.removeprefix("http://")}
