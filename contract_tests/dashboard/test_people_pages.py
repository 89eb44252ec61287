"""People in a browser: invitation, two-factor authentication, sign-in with a code, and roles."""

import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, let_in, signed_in
from contract_tests.harness import Gateway
from models.accounts import totp
from tests.mail_server import MailServer

PASSWORD = "a password of one's own"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """An owner of the account."""
    return enrol().signed_in()


def _press(page: Page, name: str) -> None:
    page.wait_for_load_state()
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_load_state()


def _invite(page: Page, person: Person, mail: MailServer, email: str, role: str) -> str:
    """The link in the mail."""
    signed_in(page, person, "/dashboard/users")
    page.get_by_label("Email").fill(email)
    page.get_by_role("combobox", name="Role").select_option(role)
    _press(page, "Invite")
    expect(page.get_by_role("status")).to_be_visible()
    return person.url + mail.link_to(email)


def _code(secret: str, later: int = 0) -> str:
    return totp.code_of(secret, round(time.time() * 1000) // totp.STEP_MS + later)


def _join(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Repeat the password").fill(PASSWORD)
    _press(page, "Create my user")


def _turn_on(page: Page) -> tuple[str, list[str]]:
    """Returns the app's secret and the recovery codes."""
    page.goto("/dashboard/you/two-factor")
    _press(page, "Set it up")
    secret = page.locator("#secret").inner_text()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_label("Code", exact=True).fill(_code(secret))
    _press(page, "Turn it on")
    return secret, page.locator("#codes").inner_text().split()


def _give_password(page: Page, email: str, password: str = PASSWORD) -> None:
    page.goto("/dashboard/sign-in")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    _press(page, "Sign in")


def test_a_typed_password_can_be_seen_until_the_form_is_sent(page: Page) -> None:
    page.goto("/dashboard/sign-in")
    page.get_by_label("Email").fill("somebody@example.com")
    field, button = page.get_by_label("Password"), page.get_by_role("button", name="Show password")
    field.fill(PASSWORD)
    for is_shown in (True, False, True):
        button.click()
        expect(field).to_have_attribute("type", "text" if is_shown else "password")
        expect(button).to_have_attribute("aria-pressed", str(is_shown).lower())
        assert faults(page, f"password-shown-{is_shown}") == []
    page.evaluate("document.forms[0].addEventListener('submit', event => event.preventDefault())")
    _press(page, "Sign in")
    expect(field).to_have_attribute("type", "password")
    expect(field).to_have_value(PASSWORD)


def test_an_invited_user_signs_in_with_a_code(
    page: Page, browser: Browser, gateway: Gateway, person: Person, mail: MailServer
) -> None:
    link = _invite(page, person, mail, "invited@example.com", "agent")
    assert re.fullmatch(rf"{gateway.url}/dashboard/invitation/[\w-]{{43}}", link)
    context = browser.new_context(base_url=gateway.url)
    guest = context.new_page()
    guest.goto(link)
    for password, strength in (("password1234", "weak. This is"), (PASSWORD, "strong.")):
        guest.get_by_label("Password", exact=True).fill(password)
        expect(guest.get_by_role("status")).to_contain_text(f"Strength: {strength}")
        assert faults(guest, f"choose-password-{strength}") == []
    _join(guest, link)
    expect(guest.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(guest.get_by_role("navigation").get_by_role("link", name="Users")).to_have_count(0)
    secret, codes = _turn_on(guest)
    _press(guest, "Sign out")
    _give_password(guest, "invited@example.com")
    expect(guest.get_by_role("heading", level=1)).to_have_text("Enter your code")
    guest.goto("/dashboard/you")
    expect(guest.get_by_role("heading", level=1)).to_have_text("Sign in")
    guest.goto("/dashboard/sign-in/code")
    # Turning it on used up the current code.
    guest.get_by_label("Code of your").fill(_code(secret, 1))
    _press(guest, "Sign in")
    expect(guest.get_by_role("heading", level=1)).to_have_text("Overview")
    _press(guest, "Sign out")
    _give_password(guest, "invited@example.com")
    guest.get_by_label("Code of your").fill(codes[0])
    _press(guest, "Sign in")
    expect(guest.get_by_role("heading", level=1)).to_have_text("Overview")
    context.close()
    page.goto("/dashboard/audit?actor=invited%40example.com")
    for said in ("Accepted an invitation", "Turned two-factor authentication on", "Signed out"):
        expect(page.locator("table")).to_contain_text(said)


def test_no_token_or_secret_of_people_is_in_the_log(
    page: Page, browser: Browser, gateway: Gateway, person: Person, mail: MailServer
) -> None:
    link = _invite(page, person, mail, "logged@example.com", "viewer")
    context = browser.new_context(base_url=gateway.url)
    guest = context.new_page()
    _join(guest, link)
    secret, codes = _turn_on(guest)
    guest.goto(link)
    context.close()
    log = gateway.log()
    assert "/dashboard/invitation/<token>" in log
    for word in (link.rpartition("/")[2], secret, *codes, PASSWORD):
        assert word not in log


def test_pages_of_people_have_no_fault_in_any_look(
    page: Page, browser: Browser, gateway: Gateway, person: Person, mail: MailServer
) -> None:
    link = _invite(page, person, mail, "looked-at@example.com", "developer")
    found = faults(page, "invitation-sent")
    context = browser.new_context(base_url=gateway.url)
    guest = context.new_page()
    guest.goto(link)
    found += faults(guest, "invitation")
    _join(guest, link)
    guest.goto("/dashboard/you/two-factor")
    _press(guest, "Set it up")
    found += faults(guest, "two-factor-set-up")
    guest.get_by_label("Your password").fill(PASSWORD)
    guest.get_by_label("Code", exact=True).fill(_code(guest.locator("#secret").inner_text()))
    _press(guest, "Turn it on")
    found += faults(guest, "recovery-codes")
    guest.goto("/dashboard/you/two-factor")
    found += faults(guest, "two-factor-on")
    guest.goto("/dashboard/users")
    found += faults(guest, "forbidden")
    guest.goto("/dashboard/keys")
    _press(guest, "Sign out")
    _give_password(guest, "looked-at@example.com")
    found += faults(guest, "sign-in-code")
    guest.goto(link)
    found += faults(guest, "link-closed")
    context.close()
    assert found == []


def test_a_person_joins_a_second_account_and_switches(
    page: Page, browser: Browser, gateway: Gateway, enrol: Enrol, person: Person, mail: MailServer
) -> None:
    """An account that requires two factors leads them to the set-up first."""
    other = gateway.customer(with_number=False).account_id
    stranger = enrol(other)
    link = _invite(page, person, mail, stranger.email, "developer")
    context = browser.new_context(base_url=gateway.url)
    guest = context.new_page()
    guest.goto(link)
    found = faults(guest, "invitation-of-a-known-person")
    guest.get_by_label("Password").fill(stranger.password)
    _press(guest, "Sign in and join")
    expect(guest.get_by_role("heading", level=1)).to_have_text("Overview")
    _press(guest, "Sign out")
    _give_password(guest, stranger.email, stranger.password)
    expect(guest.get_by_role("heading", level=1)).to_have_text("Choose an account")
    found += faults(guest, "choose-account")
    guest.get_by_role("button", name="developer").click()
    guest.set_viewport_size({"width": 1280, "height": 800})
    guest.get_by_role("link", name="Switch account").click()
    found += faults(guest, "switch-account")
    guest.get_by_role("button", name="owner").click()
    expect(guest.get_by_role("heading", level=1)).to_have_text("Overview")
    guest.goto("/dashboard/users")
    found += faults(guest, "users-two-factor-optional")
    gateway.stored.change("UPDATE account SET two_factor_since = 1 WHERE id = ?", other)
    guest.goto("/dashboard/inbox")
    expect(guest.get_by_role("heading", level=1)).to_contain_text("Two-factor authentication")
    found += faults(guest, "two-factor-required")
    context.close()
    assert found == []


def test_an_invitation_is_accepted_without_scripts(
    page: Page, browser: Browser, gateway: Gateway, person: Person, mail: MailServer
) -> None:
    link = _invite(page, person, mail, "plain@example.com", "viewer")
    context = browser.new_context(base_url=gateway.url, java_script_enabled=False)
    guest = context.new_page()
    _join(guest, link)
    expect(guest.get_by_role("heading", level=1)).to_have_text("Overview")
    context.close()


def test_a_viewer_sees_no_button_that_changes_something(
    browser: Browser, gateway: Gateway, enrol: Enrol
) -> None:
    viewer = enrol(role="viewer").signed_in()
    context = browser.new_context(base_url=gateway.url)
    let_in(context, viewer)
    page = context.new_page()
    for name in ("keys", "webhooks", "contacts", "deliveries"):
        page.goto(f"/dashboard/{name}")
        assert page.locator("main form[method=post]").count() == 0
    page.goto("/dashboard/links")
    expect(page.locator("[data-kind=forbidden]")).to_be_visible()
    expect(page.locator("main")).to_contain_text("owner or developer")
    context.close()
