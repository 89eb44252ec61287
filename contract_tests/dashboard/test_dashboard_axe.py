"""Every page of the dashboard at phone and desktop width, light and dark, without findings of axe-core.

Also: no console errors, no request to another host, no sideways scrolling.
"""

import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from playwright.sync_api import Browser, Page, expect

from contract_tests.chromium import Witness
from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import AXE, faults, leave
from contract_tests.dashboard.person import Person, let_in, signed_in
from contract_tests.dashboard.test_dashboard_security import LISTS, PRIVATE_PAGES
from contract_tests.dashboard.world import Ids, answers, fill, people
from contract_tests.harness import Customer, Gateway, Receiver

SIGN_IN = "/dashboard/sign-in"
# Without those that are files.
PAGES = [route for route in PRIVATE_PAGES if not route.endswith(".csv")]


@pytest.fixture(scope="module")
def tab(browser: Browser, gateway: Gateway) -> Iterator[Page]:
    """One tab for all pages, because a new one takes as long as a page."""
    context = browser.new_context(base_url=gateway.url)
    context.add_init_script(path=AXE)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def witness(tab: Page) -> Witness:
    """The record of the tab."""
    return Witness(tab)


@pytest.fixture
def page(tab: Page, witness: Witness, gateway: Gateway) -> Iterator[Page]:
    """The tab without a session. At the end there must be no browser error and no request elsewhere."""
    tab.context.clear_cookies()
    yield tab
    assert witness.complaints == []
    assert witness.hosts <= {gateway.url.removeprefix("http://")}


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the account with a resource in every state."""
    return enrol().signed_in()


@pytest.fixture(scope="module")
def newcomer(gateway: Gateway, enrol: Enrol) -> Person:
    """A user of an empty account."""
    return enrol(gateway.customer(with_number=False).account_id).signed_in()


@pytest.fixture(scope="module")
def ids(gateway: Gateway, owner: Customer, person: Person) -> Iterator[Ids]:
    """The accounts, users and resources of the pages."""
    receiver, released = Receiver(), threading.Event()
    receiver.reply = answers(released)
    yield fill(gateway, owner, receiver) | people(gateway, owner, person)
    released.set()
    receiver.close()


def _addresses(route: str, ids: Ids) -> list[str]:
    """The route for a resource of each state. Of the pages of actions, only the ordinary resource's."""
    for name, values in ids.items():
        if name in route:
            chosen = values if route.endswith(name) else values[:1]
            return [route.replace(name, value) for value in chosen]
    assert "<" not in route, "a resource of another kind needs an identifier here"
    return [route]


def _name(route: str, position: int) -> str:
    return f"{route.removeprefix('/dashboard')} {position}"


def _walk(page: Page, person: Person, addresses: list[str], route: str) -> list[str]:
    found: list[str] = []
    for position, address in enumerate(addresses, 1):
        signed_in(page, person, address)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        found += faults(page, _name(route, position))
        leave(page)
    return found


@pytest.mark.parametrize("route", PAGES)
def test_a_page_has_no_fault_in_any_look(page: Page, person: Person, ids: Ids, route: str) -> None:
    assert _walk(page, person, _addresses(route, ids), route) == []


@pytest.mark.parametrize("name", ["", *LISTS])
def test_a_page_of_an_empty_account_has_no_fault(page: Page, newcomer: Person, name: str) -> None:
    assert _walk(page, newcomer, [f"/dashboard/{name}"], f"empty-{name}") == []


# One macro shows this for all lists.
@pytest.mark.parametrize("name", ["messages", "contacts", "requests"])
def test_a_page_past_the_end_has_no_fault(page: Page, person: Person, name: str) -> None:
    assert _walk(page, person, [f"/dashboard/{name}?page=9"], f"past-the-end-{name}") == []


def test_a_page_with_a_new_secret_has_no_fault(page: Page, person: Person, ids: Ids) -> None:
    signed_in(page, person, "/dashboard/keys")
    page.get_by_label("Name of the new key").fill("To be looked at")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#key")).to_contain_text("mk_live_")
    page.wait_for_load_state()
    assert faults(page, "key-created") == []
    page.goto(f"/dashboard/webhooks/{ids['<webhook_id>'][0]}/rotate")
    page.locator("main").get_by_role("button").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    page.wait_for_load_state()
    assert faults(page, "secret-rotated") == []


def test_the_sign_in_has_no_fault(page: Page) -> None:
    page.goto(SIGN_IN)
    assert faults(page, "sign-in") == []


# A separate page, because the browser logs the status as an error.
@pytest.mark.usefixtures("ids")
@pytest.mark.parametrize(
    ("name", "path", "status"),
    [
        ("nothing-here", "nothing/here", 404),
        ("bad-status", "messages?status=lost", 422),
        ("bad-time", "deliveries?since=soon&state=lost", 422),
        ("no-message-matches", "messages?direction=INBOUND&status=failed", 200),
        ("no-contact-matches", "contacts?text=Nobody", 200),
        ("no-delivery-matches", "deliveries?kind=number.banned", 200),
        ("broken", "keys", 503),
    ],
)
def test_an_error_page_has_no_fault(
    browser: Browser, gateway: Gateway, person: Person, name: str, path: str, status: int
) -> None:
    context = browser.new_context(base_url=gateway.url)
    let_in(context, person)
    page = context.new_page()
    with gateway.stored.without("api_key") if name == "broken" else nullcontext():
        answer = page.goto(f"/dashboard/{path}")
    assert answer is not None
    assert answer.status == status
    assert faults(page, name) == []
    context.close()


def test_every_page_answers_without_scripts(person: Person, ids: Ids) -> None:
    for route in PAGES:
        answer = person.get(_addresses(route, ids)[0])
        assert answer.status_code == 200
        assert answer.text.count("<h1") == 1
