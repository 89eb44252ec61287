"""Webhooks in the dashboard with real receivers: test, fix, disable, enable and delete."""

import re
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import LIMITS, Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, let_in
from contract_tests.dashboard.webhook_steps import TO, WEBHOOKS, follow, press, register, stored
from contract_tests.harness import (
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
from webhooks.reasons import COULD_NOT_CONNECT, NO_RESPONSE

MARKUP = "<script>document.title = 'taken over'</script>"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A service with few retries: two discarded events disable a webhook."""
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
    """A browser with a signed-in user."""
    let_in(page.context, person)
    return page


def _answer(status: str, body: str) -> Iterable[bytes]:
    # A ScriptedReceiver closes each connection: a client that reused it would lose its next request.
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return [f"{head}{body}".encode()]


def test_the_result_of_a_test_appears_in_place(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = register(owner, receiver.url("/tested"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    page.evaluate("window.isTheSamePage = true")
    press(page, "Send a test event")
    answer = page.locator("#answer")
    expect(answer.locator(".badge.good")).to_be_visible()
    expect(answer).to_contain_text(" 200. ")
    expect(answer.locator("pre")).to_have_text("ok")
    [received] = receiver.wait("/tested")
    assert received.is_signed_with(hook["secret"])
    receiver.status = 503
    press(page, "Send a test event")
    expect(answer.locator(".badge.bad")).to_be_visible()
    expect(answer).to_contain_text(" 503. ")
    assert page.evaluate("window.isTheSamePage")
    assert page.url.endswith(hook["id"])


def test_a_running_test_cannot_be_sent_twice(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    may_answer = threading.Event()
    hook = register(owner, receiver.url("/slow"))

    def reply(_: Received) -> Reply:
        assert may_answer.wait(WAIT_SECONDS)
        return Reply()

    receiver.reply = reply
    member_page.goto(f"{WEBHOOKS}/{hook['id']}")
    press(member_page, "Send a test event")
    receiver.wait("/slow")
    button = member_page.get_by_role("button", name="Send a test event")
    expect(button).to_be_disabled()
    may_answer.set()
    expect(member_page.locator("#answer")).to_contain_text("The receiver returned 200.")
    expect(button).to_be_enabled()


def test_a_payload_is_edited_and_sent_by_keyboard(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = register(owner, receiver.url("/composed"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    follow(page, "Choose the event, edit the payload")
    page.locator("select[name=kind]").select_option("message.read")
    press(page, "Load its sample")
    payload = page.get_by_role("textbox", name="Payload")
    expect(payload).to_have_value(re.compile('"event": "message.read"'))
    payload.fill('{"event": "message.read", "timestamp": "now", "data": {"mine": true}}')
    page.get_by_role("button", name="Send").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").locator(".badge.good")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text(" 200. ")
    assert faults(page, "composed") == []
    [received] = receiver.wait("/composed")
    assert received.is_signed_with(hook["secret"])
    assert received.event["data"] == {"mine": True}


def test_a_test_without_a_response_shows_the_reason(member_page: Page, owner: Customer) -> None:
    hook = register(owner, "http://127.0.0.1:9/nobody")
    member_page.goto(f"{WEBHOOKS}/{hook['id']}")
    press(member_page, "Send a test event")
    expect(member_page.locator("#answer")).to_contain_text(f"{NO_RESPONSE}{COULD_NOT_CONNECT}")


def test_a_test_works_without_scripts(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = register(owner, receiver.url("/plain"))
    context = browser.new_context(base_url=gateway.url, java_script_enabled=False)
    let_in(context, person)
    page = context.new_page()
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    press(page, "Send a test event")
    expect(page.locator("#answer")).to_contain_text("The receiver returned 200.")
    expect(page.get_by_role("heading", level=1)).to_contain_text(hook["url"])
    context.close()


def test_a_receivers_response_to_a_test_is_shown_as_text(
    member_page: Page, owner: Customer
) -> None:
    page, scripted = member_page, ScriptedReceiver()
    url = scripted.url("/markup", lambda: _answer("500 Oops", MARKUP))
    hook = register(owner, url)
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    press(page, "Send a test event")
    expect(page.locator("#answer pre")).to_have_text(MARKUP)
    assert owner.send(TO).ok
    wait_for(lambda: "event failed after all retries" in _shown(page), "the failed event")
    expect(page.get_by_role("region", name="Events do not arrive").locator("pre")).to_have_text(
        MARKUP
    )
    assert page.title() != "taken over"
    scripted.close()


def _shown(page: Page) -> str:
    page.reload()
    return page.get_by_role("main").inner_text()


def test_a_webhook_is_disabled_after_a_confirmation_and_enabled_again(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    hook = register(owner, receiver.url("/switched"))
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    follow(page, "Disable")
    assert stored(owner, hook["id"])["active"] is True
    press(page, "Disable")
    expect(page.get_by_role("status")).to_contain_text("The webhook is disabled.")
    expect(page.get_by_text(" of this account disabled it.")).to_be_visible()
    assert stored(owner, hook["id"])["active"] is False
    page.goto(WEBHOOKS)
    expect(page.get_by_role("row", name=hook["url"])).to_contain_text("disabled")
    assert owner.send(TO).ok
    follow(page, hook["url"])
    press(page, "Enable")
    expect(page.get_by_role("status")).to_contain_text("The webhook is enabled.")
    expect(page.get_by_role("heading", level=1)).to_contain_text("active")
    sent = owner.send(TO).json()
    [received] = receiver.wait("/switched")
    assert received.event["data"]["id"] == sent["id"]


def test_a_failing_webhook_shows_its_error_and_what_to_do(
    member_page: Page, owner: Customer, receiver: Receiver
) -> None:
    page = member_page
    receiver.status = 500
    hook = register(owner, receiver.url("/failing"))
    assert owner.send(TO).ok
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    wait_for(lambda: "1 event failed after all retries" in _shown(page), "a failing webhook")
    page.goto(WEBHOOKS)
    expect(page.get_by_role("row", name=hook["url"])).to_contain_text("failing")
    assert owner.send(TO).ok
    wait_for(lambda: not stored(owner, hook["id"])["active"], "its deactivation")
    page.reload()
    row = page.get_by_role("row", name=hook["url"])
    expect(row).to_contain_text("2 deliveries in a row")
    follow(page, hook["url"])
    trouble = page.get_by_role("region", name="Disabled since")
    expect(trouble).to_contain_text("2 deliveries in a row")
    expect(trouble).to_contain_text(" 500.")
    failed = f"/dashboard/deliveries?webhook={hook['id']}&state=failed"
    expect(trouble.get_by_role("link", name="Failed deliveries")).to_have_attribute("href", failed)
    receiver.status = 200
    press(page, "Send a test event")
    expect(page.locator("#answer")).to_contain_text("The receiver returned 200.")
    press(page, "Enable")
    expect(page.get_by_role("heading", level=1)).to_contain_text("some failures")
    expect(trouble).to_have_count(0)
    sent = owner.send(TO).json()
    assert receiver.wait("/failing", matching=lambda r: r.event["data"]["id"] == sent["id"])


def test_a_webhook_is_deleted_after_a_confirmation(member_page: Page, owner: Customer) -> None:
    page = member_page
    hook = register(owner, "http://127.0.0.1:9/deleted")
    page.goto(f"{WEBHOOKS}/{hook['id']}")
    follow(page, "Delete")
    follow(page, "Cancel")
    assert stored(owner, hook["id"])["url"] == hook["url"]
    follow(page, "Delete")
    press(page, "Delete webhook")
    expect(page.get_by_role("status")).to_contain_text("The webhook is deleted")
    expect(page.get_by_role("row", name=hook["url"])).to_have_count(0)
    assert owner.request("GET", f"/webhooks/{hook['id']}").status_code == 404
