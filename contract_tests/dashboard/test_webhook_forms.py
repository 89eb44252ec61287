"""Webhooks in the dashboard: create, edit, rotate, and verify signatures."""

import hashlib
import hmac
import re
from html import unescape

import pytest
from markupsafe import escape
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import Person, let_in
from contract_tests.dashboard.webhook_steps import (
    TO,
    WEBHOOKS,
    count,
    follow,
    press,
    register,
    stored,
)
from contract_tests.harness import ROOT, Customer, Gateway, Receiver
from services.webhooks import NOT_AN_ADDRESS

SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
MARKUP = "<script>document.title = 'taken over'</script>"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


@pytest.fixture
def member_page(page: Page, person: Person) -> Page:
    """A browser with a signed-in user."""
    let_in(page.context, person)
    return page


def test_the_secret_shown_at_creation_verifies_the_deliveries(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    page.goto(WEBHOOKS)
    follow(page, "New webhook")
    page.get_by_label("Address").fill(receiver.url("/made"))
    page.get_by_label("message.sent").check()
    page.get_by_label("message.failed").check()
    page.get_by_text("Limit to some numbers").click()
    page.get_by_label(f"+{owner.number['phoneNumber']}").check()
    press(page, "Create webhook")
    secret = page.locator("#secret").inner_text()
    assert SECRET.fullmatch(secret)
    press(page, "Copy secret")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    follow(page, "How to verify signatures")
    expect(page.get_by_role("heading", name="Verify signatures")).to_be_visible()
    assert secret not in page.content()
    follow(page, receiver.url("/made"))
    expect(page.get_by_text(f"whsec_****{secret[-4:]}")).to_be_visible()
    assert secret not in page.content()
    kept = stored(owner, page.url.rpartition("/")[2])
    assert kept["events"] == ["message.sent", "message.failed"]
    assert kept["numberIds"] == [owner.number["id"]]
    assert owner.send(TO).ok
    [received] = receiver.wait("/made")
    assert received.is_signed_with(secret)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("url", "ftp://example.com/", NOT_AN_ADDRESS),
        ("url", "http://" + "a" * 2048, " 2048 "),
        ("url", f'">{MARKUP}', NOT_AN_ADDRESS),
        ("url", "", NOT_AN_ADDRESS),
        ("events", "message.unheard-of", " events"),
        ("numbers", "num_unknown", " numbers"),
    ],
)
def test_an_invalid_form_shows_its_errors_and_creates_nothing(
    person: Person, owner: Customer, field: str, value: str, problem: str
) -> None:
    before = count(owner)
    form = {"url": "http://127.0.0.1:9/typed", "events": "message.read"} | {field: value}
    answer = person.submit(WEBHOOKS, page=f"{WEBHOOKS}/new", **form)
    assert answer.status_code == 422
    told = answer.text.partition(f'id="problem-{field}">')[2].partition("</p>")[0]
    assert problem in unescape(told)
    assert answer.text.count('role="alert"') == 1
    assert f'aria-describedby="problem-{field}"' in answer.text
    assert f'name="url" value="{escape(form["url"])}"' in answer.text
    assert ('value="message.read" checked' in answer.text) is (field != "events")
    assert MARKUP not in answer.text
    assert count(owner) == before


def test_an_empty_form_lists_all_missing_values(person: Person, owner: Customer) -> None:
    before = count(owner)
    answer = person.submit(WEBHOOKS, page=f"{WEBHOOKS}/new", url="nowhere")
    assert answer.status_code == 422
    assert 'id="problem-events"' in answer.text
    assert 'id="problem-url"' in answer.text
    assert count(owner) == before


def test_a_webhook_above_the_plans_limit_is_refused_with_advice(
    gateway: Gateway, enrol: Enrol
) -> None:
    """The test service leaves the limit of the plan Starter at its default."""
    starter = gateway.customer("starter", with_number=False)
    member = enrol(starter.account_id).signed_in()
    form = {"url": "http://127.0.0.1:9/typed", "events": "message.read"}
    for _ in range(20):
        assert register(starter, form["url"])["id"]
    answer = member.submit(WEBHOOKS, page=f"{WEBHOOKS}/new", **form)
    assert answer.status_code == 409
    told = answer.text.partition('id="problem">')[2].partition("</p>")[0]
    assert {"20", "starter", "Delete"} <= set(re.findall(r"\w+", told))
    assert f'name="url" value="{escape(form["url"])}"' in answer.text
    assert 'value="message.read" checked' in answer.text
    assert count(starter) == 20


def test_a_number_of_another_account_is_handled_like_an_unknown_one(
    gateway: Gateway, person: Person, owner: Customer
) -> None:
    theirs = gateway.customer().number
    hook = register(owner, "http://127.0.0.1:9/mine")
    for path, page in ((WEBHOOKS, f"{WEBHOOKS}/new"), (f"{WEBHOOKS}/{hook['id']}/edit",) * 2):
        form = {"url": hook["url"], "events": "message.sent", "numbers": theirs["id"]}
        answer = person.submit(path, page=page, **form)
        assert answer.status_code == 422
        assert 'id="problem-numbers"' in answer.text
        assert theirs["phoneNumber"] not in answer.text
    assert stored(owner, hook["id"])["numberIds"] == []


def test_an_edit_shows_the_current_values_and_changes_the_deliveries(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = register(owner, receiver.url("/before"), numberIds=[owner.number["id"]])
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    follow(page, "Edit")
    expect(page.get_by_label("Address")).to_have_value(hook["url"])
    expect(page.get_by_label("message.sent")).to_be_checked()
    expect(page.get_by_label("message.read")).not_to_be_checked()
    expect(page.get_by_label(f"+{owner.number['phoneNumber']}")).to_be_checked()
    page.get_by_label("Address").fill(receiver.url("/after"))
    page.get_by_label("message.sent").uncheck()
    page.get_by_label("message.delivered").check()
    page.get_by_label(f"+{owner.number['phoneNumber']}").uncheck()
    press(page, "Save")
    expect(page.get_by_role("status")).to_contain_text("The webhook is changed.")
    kept = stored(owner, hook["id"])
    assert (kept["url"], kept["events"]) == (receiver.url("/after"), ["message.delivered"])
    assert kept["numberIds"] == []
    assert owner.send(TO).ok
    assert receiver.wait("/after")[0].event["event"] == "message.delivered"
    assert receiver.at("/before") == []


def test_a_rotated_secret_is_shown_once_and_signs_later_deliveries(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = register(owner, receiver.url("/rotated"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    follow(page, "Rotate secret")
    follow(page, "Cancel")
    expect(page.get_by_text(f"whsec_****{hook['secret'][-4:]}")).to_be_visible()
    expect(page.locator("dt", has_text="Rotated").locator("+ dd")).to_have_text("never")
    follow(page, "Rotate secret")
    expect(page.get_by_text("webhook-signature")).to_be_visible()
    press(page, "Rotate secret")
    secret = page.locator("#secret").inner_text()
    assert SECRET.fullmatch(secret)
    assert secret != hook["secret"]
    follow(page, "I have copied it")
    expect(page.locator("dt", has_text="Rotated").locator("+ dd")).to_contain_text("UTC")
    assert secret not in page.content()
    assert owner.send(TO).ok
    [received] = receiver.wait("/rotated")
    assert received.is_signed_with(secret)
    assert not received.is_signed_with(hook["secret"])


def test_the_verification_example_uses_the_webhooks_secret(
    member_page: Page, owner: Customer
) -> None:
    page = member_page
    hook = register(owner, "http://127.0.0.1:9/verified", events=["message.failed"])
    page.goto(f"{WEBHOOKS}/{hook['id']}/verify")
    body, header = (page.locator(f"#{name}").text_content() for name in ("body", "header"))
    digest = hmac.new(hook["secret"].encode(), str(body).encode(), hashlib.sha256).hexdigest()
    assert header == f"sha256={digest}"
    assert '"event":"message.failed"' in str(body)
    assert hook["secret"] not in page.content()
    expect(page.get_by_role("main")).to_contain_text(f"whsec_****{hook['secret'][-4:]}")
    page.reload()
    expect(page.locator("#body")).to_have_text(str(body))


def test_the_verification_page_has_the_snippet_of_each_language_to_copy(
    member_page: Page, owner: Customer
) -> None:
    page = member_page
    hook = register(owner, "http://127.0.0.1:9/snippets")
    page.goto(f"{WEBHOOKS}/{hook['id']}/verify")
    for language, ending in (
        ("Python", "py"),
        ("Node.js", "mjs"),
        ("Go", "go"),
        ("PHP", "php"),
        ("Ruby", "rb"),
    ):
        part = page.locator(f"#{ending}")
        if part.get_attribute("open") is None:
            part.get_by_text(language, exact=True).click()
        part.get_by_role("button", name="Copy code").click()
        expect(part.get_by_role("button", name="Copied")).to_be_visible()
        snippet = (ROOT / "dashboard" / "snippets" / f"verify.{ending}").read_text()
        assert page.evaluate("navigator.clipboard.readText()") == snippet


def test_an_empty_list_or_page_has_a_link(gateway: Gateway, enrol: Enrol) -> None:
    newcomer = enrol(gateway.customer(with_number=False).account_id).signed_in()
    empty = newcomer.get(WEBHOOKS).text
    assert "No webhook yet." in empty
    assert f'href="{WEBHOOKS}/new"' in empty
    past = newcomer.get(f"{WEBHOOKS}?page=7").text
    assert " page 7." in past
    assert f'href="{WEBHOOKS}"' in past
    assert "Limit to some numbers" not in newcomer.get(f"{WEBHOOKS}/new").text


def test_a_webhook_is_created_by_keyboard_only(member_page: Page) -> None:
    page = member_page
    page.goto(f"{WEBHOOKS}/new")
    page.get_by_label("Address").focus()
    page.keyboard.type("http://127.0.0.1:9/by-keyboard")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("#secret")).to_contain_text("whsec_")


def test_a_phone_shows_the_webhooks_without_scrolling_sideways(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer
) -> None:
    context = browser.new_context(
        base_url=gateway.url, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True
    )
    let_in(context, person)
    page = context.new_page()
    hook = register(owner, f"http://127.0.0.1:9/{'a' * 2000}")
    owner.request("PATCH", f"/webhooks/{hook['id']}", json={"active": False})
    here = f"{WEBHOOKS}/{hook['id']}"
    for path in (WEBHOOKS, f"{WEBHOOKS}/new", here, f"{here}/edit", f"{here}/verify"):
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach((part) => part.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    context.close()
