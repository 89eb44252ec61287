"""The contact pages in a browser: search, opt-out, opt-in, notes, and keywords that opt out."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, let_in, signed_in
from contract_tests.dashboard.webhook_steps import follow, press
from contract_tests.harness import Customer, Gateway, Receiver, wait_for

CONTACTS = "/dashboard/contacts"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def _contact(owner: Customer, phone: str) -> dict[str, Any]:
    [found] = owner.request("GET", f"/contacts?phone={phone}").json()["data"]
    contact: dict[str, Any] = found
    return contact


def test_a_person_is_found_opted_out_noted_and_opted_in_again(
    page: Page, person: Person, owner: Customer
) -> None:
    receiver, phone = Receiver(), "15551234567"
    hook = {"url": receiver.url("/consent"), "events": ["contact.updated"]}
    owner.request("POST", "/webhooks", json=hook)
    message_id = owner.send(phone).json()["id"]
    signed_in(page, person, CONTACTS)
    page.get_by_label("Phone number").fill("+1 (555) 123-4567")
    press(page, "Search")
    page.get_by_role("row").nth(1).get_by_role("link").click()
    press(page, "Opt out of marketing")
    expect(page.get_by_role("status")).to_contain_text(" no marketing ")
    expect(page.get_by_role("heading", level=1)).to_contain_text("opted out")
    assert _contact(owner, phone)["optedOutBecause"] == "api"
    assert len(receiver.wait("/consent")) == 1
    page.get_by_label("Note").fill("Call first")
    press(page, "Save note")
    expect(page.get_by_label("Note")).to_have_value("Call first")
    press(page, "Opt in again")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("opted out")
    contact = _contact(owner, phone)
    assert (contact["optedOut"], contact["note"]) == (False, "Call first")
    page.locator(f'a[href="/dashboard/messages/{message_id}"]').click()
    page.locator(f'a[href="{CONTACTS}/{contact["id"]}"]').click()
    expect(page).to_have_url(re.compile(f"{contact['id']}$"))
    follow(page, "Contacts")
    expect(page.get_by_role("heading", level=1)).to_have_text("Contacts")
    receiver.close()


def test_configured_keywords_opt_people_out(
    page: Page, gateway: Gateway, person: Person, owner: Customer
) -> None:
    signed_in(page, person, CONTACTS)
    page.get_by_label("Words that opt out").fill("Stop, no more\nunsubscribe")
    page.get_by_label("Words that opt in again").fill("start")
    press(page, "Save words")
    expect(page.get_by_role("status")).to_contain_text("The words are saved.")
    expect(page.get_by_label("Words that opt out")).to_have_value("stop, no more, unsubscribe")
    for text, is_out in (("NO MORE", True), ("Start", False)):
        said = {"to": owner.number["phoneNumber"], "from": "15557654321", "text": {"body": text}}
        gateway.sandbox_call("inbound", type="text", **said)

        def is_followed(is_out: bool = is_out) -> bool:  # noqa: FBT001 - bound where it is made
            listed = owner.request("GET", "/contacts?phone=15557654321").json()["data"]
            return [each["optedOut"] for each in listed] == [is_out]

        wait_for(is_followed, f"what {text} asks for")


# A separate page, because the browser logs the status as an error.
def test_too_long_keywords_show_an_accessible_error(
    browser: Browser, gateway: Gateway, person: Person
) -> None:
    context = browser.new_context(base_url=gateway.url)
    let_in(context, person)
    page = context.new_page()
    page.goto(CONTACTS)
    page.get_by_label("Words that opt out").fill("x" * 41)
    press(page, "Save words")
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"\b41 .*\b40\b"))
    expect(page.get_by_label("Words that opt out")).to_have_value("x" * 41)
    assert faults(page, "bad-words") == []
    context.close()
