"""Webhooks in the dashboard: made, tested, mended, rotated, switched; with receivers that really answer."""

import hashlib
import hmac
import re
import threading
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from playwright.sync_api import Browser, BrowserContext, Page, expect

from contract_tests.dashboard.conftest import LIMITS, Enrol
from contract_tests.dashboard.person import SESSION, Person
from contract_tests.harness import (
    ROOT,
    WAIT_SECONDS,
    Customer,
    Gateway,
    Received,
    Receiver,
    Reply,
    running,
    wait_for,
)
from contract_tests.scripted_receiver import ScriptedReceiver

WEBHOOKS = "/dashboard/webhooks"
SECRET = re.compile(r"whsec_[A-Za-z0-9_-]{43}")
TO = "15551234567"
MARKUP = "<script>document.title = 'taken over'</script>"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service that gives up soon: two discarded events switch a webhook off."""
    settings = {"GATEWAY_RETRY_SCHEDULE": "0.02", "GATEWAY_DEACTIVATE_AFTER": "2"}
    folder: Path = tmp_path_factory.mktemp("gateway")
    with running(folder, GATEWAY_PLAN_LIMITS=LIMITS, **settings) as service:
        yield service


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A customer's server."""
    server = Receiver()
    yield server
    server.close()


@pytest.fixture
def member_page(page: Page, person: Person) -> Page:
    """A browser in which the person is signed in."""
    _let_in(page.context, person)
    return page


def _let_in(context: BrowserContext, person: Person) -> None:
    context.add_cookies([{"name": SESSION, "value": str(person.session), "url": person.url}])


def _register(owner: Customer, url: str, **values: Any) -> dict[str, Any]:
    body = {"url": url, "events": ["message.sent"], **values}
    made: dict[str, Any] = owner.request("POST", "/webhooks", json=body).json()
    return made


def _stored(owner: Customer, webhook_id: str) -> dict[str, Any]:
    found: dict[str, Any] = owner.request("GET", f"/webhooks/{webhook_id}").json()
    return found


def _count(owner: Customer) -> int:
    total: int = owner.request("GET", "/webhooks").json()["pagination"]["total"]
    return total


def _press(page: Page, name: str) -> None:
    # Leaving a page that is not loaded yet would show as a failed request.
    page.wait_for_load_state()
    page.get_by_role("button", name=name, exact=True).click()


def _follow(page: Page, name: str) -> None:
    page.wait_for_load_state()
    page.get_by_role("main").get_by_role("link", name=name, exact=True).click()


def _answer(status: str, body: str) -> Iterable[bytes]:
    return [f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]


def test_a_webhook_is_made_and_the_secret_shown_once_fits_what_is_delivered(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    page.goto(WEBHOOKS)
    _follow(page, "New webhook")
    page.get_by_label("Address").fill(receiver.url("/made"))
    page.get_by_label("message.sent").check()
    page.get_by_label("message.failed").check()
    page.get_by_text("Only of some numbers").click()
    page.get_by_label(f"+{owner.number['phoneNumber']}").check()
    _press(page, "Create webhook")
    secret = page.locator("#secret").inner_text()
    assert SECRET.fullmatch(secret)
    _press(page, "Copy secret")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    _follow(page, "How to verify signatures")
    expect(page.get_by_role("heading", name="Verify signatures")).to_be_visible()
    assert secret not in page.content()
    _follow(page, receiver.url("/made"))
    expect(page.get_by_text(f"whsec_****{secret[-4:]}")).to_be_visible()
    assert secret not in page.content()
    stored = _stored(owner, page.url.rpartition("/")[2])
    assert stored["events"] == ["message.sent", "message.failed"]
    assert stored["numberIds"] == [owner.number["id"]]
    assert owner.send(TO).ok
    [received] = receiver.wait("/made")
    assert received.is_signed_with(secret)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("url", "ftp://example.com/", "The url is not an address such as"),
        ("url", "http://" + "a" * 2048, "The url is longer than 2048 characters."),
        ("url", f'">{MARKUP}', "The url is not an address such as"),
        ("url", "", "The url is not an address such as"),
        ("events", "message.unheard-of", "Choose among these events."),
        ("numbers", "num_unknown", "Choose among this account's numbers."),
    ],
)
def test_a_bad_field_is_told_and_nothing_is_made(
    person: Person, owner: Customer, field: str, value: str, problem: str
) -> None:
    before = _count(owner)
    form = {"url": "http://127.0.0.1:9/typed", "events": "message.read"} | {field: value}
    answer = person.submit(WEBHOOKS, page=f"{WEBHOOKS}/new", **form)
    assert answer.status_code == 422
    told = answer.text.partition(f'id="problem-{field}">')[2].partition("</p>")[0]
    assert unescape(told).startswith(problem)
    assert answer.text.count('role="alert"') == 1
    assert f'aria-describedby="problem-{field}"' in answer.text
    assert f'name="url" value="{escape(form["url"])}"' in answer.text
    assert ('value="message.read" checked' in answer.text) is (field != "events")
    assert MARKUP not in answer.text
    assert _count(owner) == before


def test_a_form_with_nothing_chosen_says_all_that_is_missing(
    person: Person, owner: Customer
) -> None:
    before = _count(owner)
    answer = person.submit(WEBHOOKS, page=f"{WEBHOOKS}/new", url="nowhere")
    assert answer.status_code == 422
    assert "Choose at least one event." in answer.text
    assert "The url is not an address such as" in answer.text
    assert _count(owner) == before


def test_a_number_of_another_account_is_answered_like_one_that_is_not_there(
    gateway: Gateway, person: Person, owner: Customer
) -> None:
    theirs = gateway.customer().number
    hook = _register(owner, "http://127.0.0.1:9/mine")
    for path, page in ((WEBHOOKS, f"{WEBHOOKS}/new"), (f"{WEBHOOKS}/{hook['id']}/edit",) * 2):
        form = {"url": hook["url"], "events": "message.sent", "numbers": theirs["id"]}
        answer = person.submit(path, page=page, **form)
        assert answer.status_code == 422
        assert "Choose among this account's numbers." in unescape(answer.text)
        assert theirs["phoneNumber"] not in answer.text
    assert _stored(owner, hook["id"])["numberIds"] == []


def test_an_edit_shows_what_is_there_and_changes_where_and_what_is_sent(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = _register(owner, receiver.url("/before"), numberIds=[owner.number["id"]])
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    _follow(page, "Edit")
    expect(page.get_by_label("Address")).to_have_value(hook["url"])
    expect(page.get_by_label("message.sent")).to_be_checked()
    expect(page.get_by_label("message.read")).not_to_be_checked()
    expect(page.get_by_label(f"+{owner.number['phoneNumber']}")).to_be_checked()
    page.get_by_label("Address").fill(receiver.url("/after"))
    page.get_by_label("message.sent").uncheck()
    page.get_by_label("message.delivered").check()
    page.get_by_label(f"+{owner.number['phoneNumber']}").uncheck()
    _press(page, "Save")
    expect(page.get_by_role("status")).to_contain_text("The webhook is changed.")
    stored = _stored(owner, hook["id"])
    assert (stored["url"], stored["events"]) == (receiver.url("/after"), ["message.delivered"])
    assert stored["numberIds"] == []
    assert owner.send(TO).ok
    assert receiver.wait("/after")[0].event["event"] == "message.delivered"
    assert receiver.at("/before") == []


def test_a_rotated_secret_is_shown_once_and_signs_from_then_on(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = _register(owner, receiver.url("/rotated"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    _follow(page, "Rotate secret")
    _follow(page, "Cancel")
    expect(page.get_by_text(f"whsec_****{hook['secret'][-4:]}")).to_be_visible()
    expect(page.locator("dt", has_text="Rotated").locator("+ dd")).to_have_text("never")
    _follow(page, "Rotate secret")
    expect(page.get_by_text("The old secret is void at once")).to_be_visible()
    _press(page, "Rotate secret")
    secret = page.locator("#secret").inner_text()
    assert SECRET.fullmatch(secret)
    assert secret != hook["secret"]
    _follow(page, "I have copied it")
    expect(page.locator("dt", has_text="Rotated").locator("+ dd")).to_contain_text("UTC")
    assert secret not in page.content()
    assert owner.send(TO).ok
    [received] = receiver.wait("/rotated")
    assert received.is_signed_with(secret)
    assert not received.is_signed_with(hook["secret"])


def test_the_answer_to_a_test_appears_in_place(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = _register(owner, receiver.url("/tested"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    page.evaluate("window.isTheSamePage = true")
    _press(page, "Send a test event")
    answer = page.locator("#answer")
    expect(answer).to_contain_text("arrived The receiver answered 200. It took")
    expect(answer.locator("pre")).to_have_text("ok")
    [received] = receiver.wait("/tested")
    assert received.is_signed_with(hook["secret"])
    receiver.status = 503
    _press(page, "Send a test event")
    expect(answer).to_contain_text("did not arrive The receiver answered 503.")
    assert page.evaluate("window.isTheSamePage")
    assert page.url.endswith(hook["id"])


def test_a_test_under_way_cannot_be_sent_twice(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    may_answer = threading.Event()
    hook = _register(owner, receiver.url("/slow"))

    def reply(_: Received) -> Reply:
        assert may_answer.wait(WAIT_SECONDS)
        return Reply()

    receiver.reply = reply
    member_page.goto(f"{WEBHOOKS}/{hook['id']}")
    _press(member_page, "Send a test event")
    receiver.wait("/slow")
    button = member_page.get_by_role("button", name="Send a test event")
    expect(button).to_be_disabled()
    may_answer.set()
    expect(member_page.locator("#answer")).to_contain_text("The receiver answered 200.")
    expect(button).to_be_enabled()


def test_a_test_that_nobody_answers_says_why(member_page: Page, owner: Customer) -> None:
    hook = _register(owner, "http://127.0.0.1:9/nobody")
    member_page.goto(f"{WEBHOOKS}/{hook['id']}")
    _press(member_page, "Send a test event")
    expect(member_page.locator("#answer")).to_contain_text("No answer: could not connect.")


def test_a_test_works_without_scripts(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _register(owner, receiver.url("/plain"))
    context = browser.new_context(base_url=gateway.url, java_script_enabled=False)
    _let_in(context, person)
    page = context.new_page()
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    _press(page, "Send a test event")
    expect(page.locator("#answer")).to_contain_text("The receiver answered 200.")
    expect(page.get_by_role("heading", level=1)).to_contain_text(hook["url"])
    context.close()


def test_what_a_receiver_answers_is_shown_as_text(member_page: Page, owner: Customer) -> None:
    page, scripted = member_page, ScriptedReceiver()
    url = scripted.url("/markup", lambda: _answer("500 Oops", MARKUP))
    hook = _register(owner, url)
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    _press(page, "Send a test event")
    expect(page.locator("#answer pre")).to_have_text(MARKUP)
    assert owner.send(TO).ok
    wait_for(lambda: "event was discarded" in _shown(page), "the discarded event")
    expect(page.get_by_role("region", name="Events do not arrive").locator("pre")).to_have_text(
        MARKUP
    )
    assert page.title() != "taken over"
    scripted.close()


def _shown(page: Page) -> str:
    page.reload()
    return page.get_by_role("main").inner_text()


def test_a_webhook_is_switched_off_after_a_question_and_on_again(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = _register(owner, receiver.url("/switched"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    _follow(page, "Switch off")
    assert _stored(owner, hook["id"])["active"] is True
    _press(page, "Switch off")
    expect(page.get_by_role("status")).to_contain_text("The webhook is switched off.")
    expect(page.get_by_text("This account switched it off.")).to_be_visible()
    assert _stored(owner, hook["id"])["active"] is False
    page.goto(WEBHOOKS)
    expect(page.get_by_role("row", name=hook["url"])).to_contain_text("switched off")
    assert owner.send(TO).ok
    _follow(page, hook["url"])
    _press(page, "Switch on")
    expect(page.get_by_role("status")).to_contain_text("The webhook is switched on.")
    expect(page.get_by_role("heading", level=1)).to_contain_text("active")
    sent = owner.send(TO).json()
    [received] = receiver.wait("/switched")
    assert received.event["data"]["id"] == sent["id"]


def test_a_webhook_that_fails_says_so_why_it_went_off_and_what_to_do(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    receiver.status = 500
    hook = _register(owner, receiver.url("/failing"))
    assert owner.send(TO).ok
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    wait_for(lambda: "1 event was discarded in a row" in _shown(page), "a failing webhook")
    page.goto(WEBHOOKS)
    expect(page.get_by_role("row", name=hook["url"])).to_contain_text("failing")
    assert owner.send(TO).ok
    wait_for(lambda: not _stored(owner, hook["id"])["active"], "its deactivation")
    page.reload()
    row = page.get_by_role("row", name=hook["url"])
    expect(row).to_contain_text("2 deliveries in a row failed, each after all its retries.")
    _follow(page, hook["url"])
    trouble = page.get_by_role("region", name="Switched off since")
    expect(trouble).to_contain_text("2 deliveries in a row failed")
    expect(trouble).to_contain_text("The last of them: The receiver answered 500.")
    failed = f"/dashboard/deliveries?webhook={hook['id']}&state=failed"
    expect(trouble.get_by_role("link", name="What failed")).to_have_attribute("href", failed)
    receiver.status = 200
    _press(page, "Send a test event")
    expect(page.locator("#answer")).to_contain_text("The receiver answered 200.")
    _press(page, "Switch on")
    expect(page.get_by_role("heading", level=1)).to_contain_text("active")
    expect(trouble).to_have_count(0)
    sent = owner.send(TO).json()
    assert receiver.wait("/failing", matching=lambda r: r.event["data"]["id"] == sent["id"])


def test_a_webhook_is_deleted_after_a_question(member_page: Page, owner: Customer) -> None:
    page = member_page
    hook = _register(owner, "http://127.0.0.1:9/deleted")
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    _follow(page, "Delete")
    _follow(page, "Cancel")
    assert _stored(owner, hook["id"])["url"] == hook["url"]
    _follow(page, "Delete")
    _press(page, "Delete webhook")
    expect(page.get_by_role("status")).to_contain_text("The webhook is deleted")
    expect(page.get_by_role("row", name=hook["url"])).to_have_count(0)
    assert owner.request("GET", f"/webhooks/{hook['id']}").status_code == 404


def test_the_example_of_the_verification_page_fits_the_webhooks_own_secret(
    member_page: Page, owner: Customer
) -> None:
    page = member_page
    hook = _register(owner, "http://127.0.0.1:9/verified", events=["message.failed"])
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
    hook = _register(owner, "http://127.0.0.1:9/snippets")
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


def test_a_list_without_webhooks_or_past_its_end_leads_on(gateway: Gateway, enrol: Enrol) -> None:
    newcomer = enrol(gateway.customer(with_number=False).account_id).signed_in()
    empty = newcomer.get(WEBHOOKS).text
    assert "No webhook yet." in empty
    assert f'href="{WEBHOOKS}/new"' in empty
    past = newcomer.get(f"{WEBHOOKS}?page=7").text
    assert "There is no page 7." in past
    assert f'href="{WEBHOOKS}"' in past
    assert "Only of some numbers" not in newcomer.get(f"{WEBHOOKS}/new").text


def test_the_keyboard_alone_makes_a_webhook(member_page: Page) -> None:
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
    _let_in(context, person)
    page = context.new_page()
    hook = _register(owner, f"http://127.0.0.1:9/{'a' * 2000}")
    owner.request("PATCH", f"/webhooks/{hook['id']}", json={"active": False})
    here = f"{WEBHOOKS}/{hook['id']}"
    for path in (WEBHOOKS, f"{WEBHOOKS}/new", here, f"{here}/edit", f"{here}/verify"):
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach((part) => part.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    context.close()
