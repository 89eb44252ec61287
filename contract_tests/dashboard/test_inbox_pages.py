"""The inbox in a browser: read a conversation and reply, by keyboard only, and exactly once."""

import re
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults, leave
from contract_tests.dashboard.person import Person, let_in, signed_in
from contract_tests.dashboard.webhook_steps import follow, press
from contract_tests.harness import Customer, Gateway, wait_for
from contract_tests.phone.handset import png
from dashboard.inbox import CHANGED

INBOX = "/dashboard/inbox"
WRITER, SILENT = "15557654321", "15551112222"
Says = Callable[[str], None]


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


@pytest.fixture(scope="module")
def says(gateway: Gateway, owner: Customer) -> Says:
    """Send a message from a person to the owner's number."""

    def say(text: str) -> None:
        said = {"to": owner.number["phoneNumber"], "from": WRITER, "text": {"body": text}}
        gateway.sandbox_call("inbound", type="text", **said)
        wait_for(lambda: text in repr(_messages(owner, WRITER)), "the inbound message")

    return say


def _messages(owner: Customer, phone: str) -> list[str]:
    listed = owner.request("GET", f"/messages?phone={phone}&limit=100").json()["data"]
    return [each["body"].get("body", each["type"]) for each in listed]


def _conversation(owner: Customer, phone: str) -> str:
    [found] = owner.request("GET", f"/contacts?phone={phone}").json()["data"]
    return f"{INBOX}/{found['id']}"


def test_a_reply_is_sent_by_keyboard_only(
    page: Page, person: Person, owner: Customer, says: Says
) -> None:
    says("Is it on its way?")
    signed_in(page, person, INBOX)
    page.wait_for_load_state()
    page.locator(f'a[href^="{_conversation(owner, WRITER)}"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reply")).to_contain_text("window open")
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.type("Yes, since today.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The message is sent.")
    bubbles = page.locator(".bubble")
    expect(bubbles.last).to_contain_text("Yes, since today.")
    expect(bubbles.first).to_contain_text("Is it on its way?")
    # It reloads itself until the person has read the message.
    expect(bubbles.last).to_contain_text("read", timeout=15_000)
    assert _messages(owner, WRITER).count("Yes, since today.") == 1
    leave(page)


def test_a_new_message_appears_automatically(
    page: Page, person: Person, owner: Customer, says: Says
) -> None:
    says("First")
    signed_in(page, person, _conversation(owner, WRITER))
    page.get_by_label("Text", exact=True).fill("not lost")
    says("Second, while you look")
    expect(page.locator(".bubble").last).to_contain_text("Second, while you look", timeout=15_000)
    expect(page.get_by_label("Text", exact=True)).to_have_value("not lost")
    leave(page)


def test_a_form_that_is_sent_twice_sends_one_message(
    person: Person, owner: Customer, says: Says
) -> None:
    says("Hello?")
    path = _conversation(owner, WRITER)
    [key] = re.findall('name="once" value="([^"]+)"', person.get(path).text)
    form = {"reply": "text", "text": "Just once", "once": key}
    for _ in range(2):
        answer = person.post(path, None, csrf_token=person.token(path), **form)
        assert answer.status_code == 303
    form["text"] = "Changed"
    answer = person.post(path, None, csrf_token=person.token(path), **form)
    assert CHANGED in answer.text
    assert f'name="once" value="{key}"' in answer.text
    assert _messages(owner, WRITER).count("Just once") == 1
    assert "Changed" not in _messages(owner, WRITER)


def test_a_form_with_a_large_file_that_is_sent_twice_at_once_sends_one_message(
    person: Person, owner: Customer, says: Says
) -> None:
    says("And the contract?")
    path = _conversation(owner, WRITER)
    token, before = person.token(path), _messages(owner, WRITER).count("document")
    file = ("contract.pdf", b"%PDF-1.4\n" + b"x" * 8_000_000, "application/pdf")
    form = {"csrf_token": token, "once": secrets.token_hex(8), "caption": "Signed"}

    def send() -> int:
        address = f"{person.url}{path}/media"
        return person.jar.post(
            address, data=form, files={"file": file}, allow_redirects=False, timeout=60
        ).status_code

    with ThreadPoolExecutor(2) as pool:
        assert [sent.result() for sent in [pool.submit(send) for _ in range(2)]] == [303, 303]
    assert send() == 303
    file = ("contract.pdf", b"%PDF-1.4\nAnother", "application/pdf")
    assert send() == 422
    assert _messages(owner, WRITER).count("document") == before + 1


# A separate page, because the browser logs the status as an error.
def test_an_error_of_the_api_is_shown_in_the_form_and_can_be_corrected(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer, says: Says
) -> None:
    says("Send me a picture")
    context = browser.new_context(base_url=gateway.url)
    let_in(context, person)
    page = context.new_page()
    page.goto(_conversation(owner, WRITER))
    leave(page)
    follow(page, "Image or file")
    page.get_by_label("Link").fill("ftp://example.com/picture.png")
    page.get_by_label("Caption").fill("As promised")
    press(page, "Send")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Link")).to_have_value("ftp://example.com/picture.png")
    expect(page.get_by_label("Caption")).to_have_value("As promised")
    assert faults(page, "bad-reply") == []
    page.reload()
    page.get_by_label("Caption").fill("As promised")
    chooser = page.get_by_label("File", exact=True)
    chooser.set_input_files(FilePayload(name="a.exe", mimeType="", buffer=b"MZ"))
    press(page, "Send")
    expect(page.get_by_role("alert")).to_contain_text(" .jpg,")
    expect(page.get_by_label("Caption")).to_have_value("As promised")
    picture = FilePayload(name="a.png", mimeType="image/png", buffer=png())
    most, problems = chooser.get_attribute("data-most"), []
    for limit in ("0", most):
        chooser.evaluate("(input, limit) => { input.dataset.most = limit; }", limit)
        chooser.set_input_files(picture)
        problems.append(chooser.evaluate("input => input.validationMessage"))
    assert [" 0 MiB" in problem for problem in problems] == [True, False]
    assert problems[1] == ""
    press(page, "Send")
    expect(page.locator(".bubble").last).to_contain_text("Image: As promised")
    context.close()


def test_outside_the_window_a_template_is_filled_in_and_sent(
    page: Page, person: Person, owner: Customer
) -> None:
    number_id = owner.number["id"]
    body = {
        "type": "BODY",
        "text": "Hello {{1}}, order {{2}} has shipped.",
        "example": {"body_text": [["Ada", "42"]]},
    }
    made = {"name": "shipped", "language": "en_US", "category": "UTILITY", "components": [body]}
    owner.request("POST", f"/numbers/{number_id}/templates", json=made)

    def is_approved() -> bool:
        path = f"/numbers/{number_id}/templates?name=shipped&status=APPROVED"
        return bool(owner.request("GET", path).json()["data"])

    wait_for(is_approved, "the approval")
    owner.send(SILENT)
    signed_in(page, person, _conversation(owner, SILENT))
    expect(page.locator("#reply")).to_contain_text("window closed")
    page.get_by_label("Approved template").select_option(label="shipped (en_US, utility)")
    press(page, "Choose")
    page.get_by_label("{{1}} in the text").fill("Ada")
    page.get_by_label("{{2}} in the text").fill("42")
    assert faults(page, "template-reply") == []
    press(page, "Send")
    expect(page.locator(".bubble").last).to_contain_text("Template shipped")
    leave(page)


def refresh_templates(owner: Customer) -> None:
    """Read the templates again, as soon as the list has rested."""
    path = f"/numbers/{owner.number['id']}/templates/refresh"
    while (answer := owner.request("POST", path)).status_code == HTTPStatus.TOO_MANY_REQUESTS:
        time.sleep(int(answer.headers["Retry-After"]))
    answer.raise_for_status()


def test_a_template_that_only_the_copy_refuses_is_sent(
    page: Page, person: Person, owner: Customer, gateway: Gateway
) -> None:
    path = f"/numbers/{owner.number['id']}/templates"
    body = {"type": "BODY", "text": "It is here."}
    made = {"name": "here", "language": "en_US", "category": "UTILITY", "components": [body]}
    template = f"templates/{owner.request('POST', path, json=made).json()['id']}"
    gateway.sandbox_call(template, status="APPROVED", silent=True)
    refresh_templates(owner)
    owner.send(SILENT)
    signed_in(page, person, _conversation(owner, SILENT))
    page.get_by_label("Approved template").select_option(label="here (en_US, utility)")
    press(page, "Choose")
    # The copy says PAUSED from now on, and the network does not.
    gateway.sandbox_call(template, status="PAUSED", silent=True)
    refresh_templates(owner)
    assert owner.request("GET", f"{path}?name=here").json()["data"][0]["status"] == "PAUSED"
    gateway.sandbox_call(template, status="APPROVED", silent=True)
    press(page, "Send")
    expect(page.locator(".bubble").last).to_contain_text("Template here")
    leave(page)
