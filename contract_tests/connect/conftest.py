"""Fixtures: a service whose network can fail, a visitor for each test, and links to visit."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from contract_tests.chromium import launched
from contract_tests.connect.graph_proxy import GraphProxy
from contract_tests.connect.visitor import Visit
from contract_tests.harness import Customer, Gateway, running


@dataclass(frozen=True)
class Link:
    """An open signup link, and the numbers of its account ``before`` the visit."""

    slug: str
    id: str
    owner: Customer
    before: frozenset[str]

    def numbers(self) -> list[tuple[str, str]]:
        """Phone number and status of each new number."""
        return [
            (number["phoneNumber"], number["status"])
            for number in listed(self.owner)
            if number["id"] not in self.before
        ]


NewLink = Callable[..., Link]


def listed(owner: Customer) -> list[dict[str, Any]]:
    """The account's numbers."""
    numbers: list[dict[str, Any]] = owner.request("GET", "/numbers?limit=100").json()["data"]
    return numbers


# Slugs are unique in a service, which modules share.
_counter = itertools.count(1)


@pytest.fixture(scope="package")
def proxy() -> Iterator[GraphProxy]:
    """Is between the gateway and its sandbox."""
    proxy = GraphProxy()
    yield proxy
    proxy.close()


# One for all modules, because a start takes seconds.
@pytest.fixture(scope="package")
def gateway(tmp_path_factory: pytest.TempPathFactory, proxy: GraphProxy) -> Iterator[Gateway]:
    """A running service whose network can be made to fail."""
    folder: Path = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_NETWORK_URL=proxy.url) as service:
        proxy.target = service.sandbox
        yield service


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium for all modules. Their tests have separate contexts."""
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser, gateway: Gateway, proxy: GraphProxy) -> Iterator[Visit]:
    """A separate phone. At the end there must be no browser error and no request to another host."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    visit = Visit(context, gateway.url)
    yield visit
    context.close()
    proxy.faults.clear()
    known = {gateway.url, gateway.sandbox, proxy.url}
    assert visit.hosts <= {url.removeprefix("http://") for url in known}
    assert visit.complaints == []


@pytest.fixture(scope="module")
def new_link(gateway: Gateway) -> NewLink:
    """Creates a link at each call, of the module's account by default."""
    own = gateway.customer(with_number=False)

    def make(owner: Customer = own) -> Link:
        slug = f"link-{next(_counter)}"
        made = gateway.cli(
            "signup-links", "create", owner.account_id, "--slug", slug, "--exact", "--yes"
        )
        assert made["url"] == f"{gateway.url}/connect/{slug}"
        return Link(slug, made["id"], owner, frozenset(each["id"] for each in listed(owner)))

    return make
