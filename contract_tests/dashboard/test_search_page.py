"""The search in a browser: by keyboard from the field to the result, at each width, light and dark."""

import re

import pytest
from playwright.sync_api import Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.dashboard.webhook_steps import follow
from contract_tests.harness import Customer

SEARCH = "/dashboard/search"
PHONE = "15551230099"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


@pytest.fixture(scope="module")
def message_id(owner: Customer) -> str:
    """A message among many similar ones."""
    for each in range(22):
        owner.send("15551230098", f"Parcel {each} is on its way to the post office.")
    made: str = owner.send(PHONE, "Your café table for two is booked.").json()["id"]
    return made


def test_words_are_typed_and_the_message_is_opened_by_keyboard(
    page: Page, person: Person, message_id: str
) -> None:
    signed_in(page, person, SEARCH)
    expect(page.locator("main [name=q]")).to_be_focused()
    page.keyboard.type("CAFE tabl")
    page.keyboard.press("Enter")
    result = page.get_by_role("region", name="Texts of messages").get_by_role("link")
    expect(result).to_have_count(1)
    expect(result.locator("mark")).to_have_text(["café", "table"])
    assert faults(page, "search-texts") == []
    result.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/messages/{message_id}$"))


def test_a_phone_number_is_found_and_one_kind_chosen(
    page: Page, person: Person, message_id: str
) -> None:
    signed_in(page, person, f"{SEARCH}?q=%2B1+(555)+123-0099")
    people = page.get_by_role("region", name="People")
    expect(people.get_by_role("link")).to_have_text(f"+{PHONE}")
    messages = page.get_by_role("region", name="Messages", exact=True)
    expect(messages.locator(f'a[href="/dashboard/messages/{message_id}"]')).to_be_visible()
    assert faults(page, "search-phone") == []
    follow(page, "People")
    expect(page).to_have_url(re.compile("kind=people"))
    expect(messages).to_have_count(0)
    expect(people).to_be_visible()


@pytest.mark.usefixtures("message_id")
def test_more_results_than_a_page_continue_on_the_next(page: Page, person: Person) -> None:
    signed_in(page, person, f"{SEARCH}?q=parcel+post")
    texts = page.get_by_role("region", name="Texts of messages").get_by_role("listitem")
    expect(texts).to_have_count(20)
    assert faults(page, "search-many") == []
    follow(page, "Search older messages")
    expect(texts).to_have_count(2)


def test_an_identifier_opens_its_page(page: Page, person: Person, message_id: str) -> None:
    signed_in(page, person, SEARCH)
    expect(page.locator("main [name=q]")).to_be_focused()
    page.keyboard.type(message_id)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/messages/{message_id}$"))


@pytest.mark.parametrize("typed", ["", "a", "quetzal"])
def test_the_search_help_has_no_fault(page: Page, person: Person, typed: str) -> None:
    signed_in(page, person, f"{SEARCH}?q={typed}")
    assert faults(page, f"search-{typed or 'empty'}") == []
