"""Errors in the parts of a page that load by themselves: the reader sees them and loses nothing."""

import re
from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import SESSION, Person, let_in
from contract_tests.dashboard.webhook_steps import TO, WEBHOOKS, press, register
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver

TEST = "Send a test event"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


@pytest.fixture
def page(browser: Browser, gateway: Gateway, person: Person) -> Iterator[Page]:
    """A browser with a signed-in user, in which errors are expected."""
    context = browser.new_context(base_url=gateway.url)
    let_in(context, person)
    yield context.new_page()
    context.close()


@pytest.fixture
def hook(owner: Customer, receiver: Receiver) -> str:
    """The path of a webhook's page."""
    return f"{WEBHOOKS}/{register(owner, receiver.url())['id']}"


def _sign_in(page: Page, person: Person) -> None:
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    press(page, "Sign in")


def _sign_out(page: Page) -> None:
    page.context.clear_cookies(name=SESSION)


def test_a_button_pressed_while_signed_out_leads_to_the_sign_in_and_back(
    page: Page, person: Person, hook: str, receiver: Receiver
) -> None:
    page.goto(hook)
    page.wait_for_load_state()
    _sign_out(page)
    press(page, TEST)
    _sign_in(page, person)
    expect(page).to_have_url(re.compile(f"{hook}$"))
    assert receiver.at() == []
    press(page, TEST)
    expect(page.locator("#answer")).to_contain_text("The receiver returned 200.")


def test_a_page_that_reloads_itself_leads_to_the_sign_in_and_back(
    page: Page, person: Person, owner: Customer, gateway: Gateway
) -> None:
    behaviour = f"{gateway.sandbox}/_sandbox/behaviour"
    requests.put(behaviour, json={"status_delay_ms": 600_000}, timeout=WAIT_SECONDS)
    try:
        body = {
            "number_id": owner.number["id"],
            "to": TO,
            "type": "text",
            "text": {"body": "Still on its way"},
        }
        sent = owner.request("POST", "/messages/send", json=body).json()
        path = f"/dashboard/messages/{sent['id']}"
        page.goto(path)
        _sign_out(page)
        _sign_in(page, person)
        expect(page).to_have_url(re.compile(f"{path}$"))
        expect(page.get_by_text("Still on its way")).to_be_visible()
    finally:
        requests.put(behaviour, json={"status_delay_ms": 0}, timeout=WAIT_SECONDS)


def test_an_expired_form_shows_an_error(page: Page, hook: str, receiver: Receiver) -> None:
    page.goto(hook)
    page.locator("main input[name=csrf_token]").evaluate("field => { field.value = 'old'; }")
    press(page, TEST)
    expect(page.locator("#answer")).to_contain_text(" form has expired")
    assert receiver.at() == []


def test_an_unreachable_gateway_is_shown_and_can_be_retried(
    page: Page, hook: str, receiver: Receiver
) -> None:
    page.goto(hook)
    page.route("**/test", lambda route: route.abort())
    press(page, TEST)
    expect(page.locator("#answer")).to_contain_text(" did not respond")
    assert receiver.at() == []
    page.unroute("**/test")
    press(page, TEST)
    expect(page.locator("#answer")).to_contain_text("The receiver returned 200.")
