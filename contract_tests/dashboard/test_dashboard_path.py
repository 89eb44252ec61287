"""The dashboard in a browser: sign-in, keys, signup links, numbers; also by keyboard and without scripts."""

import re
from typing import Literal

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import Person
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account."""
    return enrol()


def _click(page: Page, role: Literal["button", "link"], name: str) -> None:
    # Until its scripts have loaded, a page works as it does without scripts.
    page.wait_for_load_state()
    page.get_by_role(role, name=name).click()


def _sign_in(page: Page, person: Person, path: str = "/dashboard/") -> None:
    page.goto(path)
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    _click(page, "button", "Sign in")
    page.wait_for_url(f"**{path}")
    page.wait_for_load_state()


def _create_key(page: Page, name: str) -> str:
    page.goto("/dashboard/keys")
    page.get_by_label("Name of the new key").fill(name)
    _click(page, "button", "Create key")
    return page.locator("#key").inner_text()


def _works(gateway: Gateway, key: str) -> bool:
    headers = {"Authorization": f"Bearer {key}"}
    return requests.get(f"{gateway.api}/numbers", headers=headers, timeout=WAIT_SECONDS).ok


def test_a_sign_in_leads_to_the_page_that_was_asked_for(page: Page, person: Person) -> None:
    _sign_in(page, person, "/dashboard/keys")
    expect(page).to_have_url(re.compile("/dashboard/keys$"))
    expect(page.get_by_role("link", name="API keys")).to_have_attribute("aria-current", "page")


def test_signing_out_says_so_and_closes_every_page(page: Page, person: Person) -> None:
    _sign_in(page, person)
    _click(page, "button", "Sign out")
    expect(page.get_by_role("status")).to_have_text("You are signed out.")
    page.reload()
    expect(page.get_by_role("status")).to_have_count(0)
    page.goto("/dashboard/numbers")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_key_is_shown_once_copied_used_and_revoked(
    page: Page, person: Person, gateway: Gateway
) -> None:
    _sign_in(page, person)
    key = _create_key(page, "From the browser")
    _click(page, "button", "Copy key")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key
    assert _works(gateway, key)
    _click(page, "link", "I have copied it")
    assert key not in page.content()
    _click(page, "link", "Revoke From the browser")
    _click(page, "link", "Cancel")
    assert _works(gateway, key)
    _click(page, "link", "Revoke From the browser")
    _click(page, "button", "Revoke key")
    expect(page.get_by_role("status")).to_contain_text("The key is revoked.")
    expect(page.get_by_role("row", name="From the browser")).to_contain_text("revoked")
    assert not _works(gateway, key)


def test_a_link_is_created_copied_scanned_and_revoked(
    page: Page, person: Person, gateway: Gateway
) -> None:
    _sign_in(page, person, "/dashboard/links")
    page.get_by_label("Link name").fill("acme-support")
    _click(page, "button", "Create link")
    address = page.locator("#url").inner_text()
    assert re.fullmatch(re.escape(gateway.url) + "/connect/acme-support-[a-z2-7]{16}", address)
    _click(page, "button", "Copy link")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address
    assert requests.get(address, timeout=WAIT_SECONDS).status_code == 200
    # Completely visible at every size: a clipped QR code cannot be scanned.
    code = page.locator(".qr svg")
    box = code.bounding_box()
    assert box is not None
    assert box["width"] == box["height"] > 150
    assert code.get_attribute("viewBox") is not None
    assert code.get_attribute("width") is None
    _click(page, "link", "Revoke link")
    _click(page, "button", "Revoke link")
    expect(page.get_by_role("row", name="acme-support")).to_contain_text("revoked")
    assert requests.get(address, timeout=WAIT_SECONDS).status_code == 410


def test_numbers_are_listed_and_explained(page: Page, person: Person, owner: Customer) -> None:
    _sign_in(page, person, "/dashboard/numbers")
    page.get_by_role("link", name=f"+{owner.number['phoneNumber']}").click()
    expect(page.get_by_text("Sends and receives messages.")).to_be_visible()
    expect(page.locator("#id")).to_have_text(owner.number["id"])


def test_a_notice_of_the_platform_is_shown_at_its_number(
    page: Page, person: Person, owner: Customer, gateway: Gateway
) -> None:
    gateway.give_notice(owner)
    number_id = owner.number["id"]
    wait_for(lambda: gateway.cli("numbers", "notices", number_id), "the notice")
    _sign_in(page, person, f"/dashboard/numbers/{number_id}")
    expect(page.get_by_text("throughput upgrade")).to_be_visible()


def test_the_overview_counts_what_was_sent_and_names_disabled_webhooks(
    page: Page, gateway: Gateway, enrol: Enrol
) -> None:
    customer = gateway.customer()
    assert customer.send("15551234567").ok
    hook = customer.request(
        "POST", "/webhooks", json={"url": "http://127.0.0.1:9/x", "events": ["message.sent"]}
    ).json()
    customer.request("PATCH", f"/webhooks/{hook['id']}", json={"active": False})
    _sign_in(page, enrol(customer.account_id))
    expect(page.locator(".card > p").filter(has_text="1 sent")).to_be_visible()
    attention = page.get_by_role("region", name="Needs attention").get_by_role("listitem")
    expect(attention.filter(has_text="127.0.0.1:9/x")).to_contain_text("disabled")


def test_a_new_account_finds_on_each_page_what_to_do_first(
    page: Page, gateway: Gateway, enrol: Enrol
) -> None:
    _sign_in(page, enrol(gateway.customer(with_number=False).account_id))
    expect(page.get_by_text("Nothing needs attention.")).to_be_visible()
    first = page.get_by_role("region", name="First steps").get_by_role("listitem").first
    expect(first).to_contain_text("to do")
    expect(first.get_by_role("link", name="Connect a number")).to_be_visible()
    for path, text in (("numbers", "No number yet."), ("links", "No signup link yet.")):
        page.goto(f"/dashboard/{path}")
        expect(page.get_by_text(text)).to_be_visible()


def test_the_keyboard_alone_signs_in_and_creates_a_key(page: Page, person: Person) -> None:
    page.goto("/dashboard/keys")
    expect(page.get_by_label("Email")).to_be_focused()
    page.keyboard.type(person.email)
    page.keyboard.press("Tab")
    page.keyboard.type(person.password)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    expect(page.locator("#key")).to_contain_text("mk_live_")


def test_everything_works_without_scripts(
    browser: Browser, gateway: Gateway, person: Person
) -> None:
    context = browser.new_context(base_url=gateway.url, java_script_enabled=False)
    page = context.new_page()
    _sign_in(page, person)
    key = _create_key(page, "Without scripts")
    assert _works(gateway, key)
    expect(page.get_by_role("button", name="Copy key")).to_be_hidden()
    page.goto("/dashboard/keys")
    _click(page, "link", "Revoke Without scripts")
    _click(page, "button", "Revoke key")
    assert not _works(gateway, key)
    context.close()


def test_a_phone_shows_every_page_without_scrolling_sideways(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer
) -> None:
    context = browser.new_context(
        base_url=gateway.url, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    _sign_in(page, person)
    _create_key(page, "A" * 100)
    for path in ("", "keys", "links", "numbers", f"numbers/{owner.number['id']}"):
        page.goto(f"/dashboard/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
