"""The message pages in a browser: the list with its filter, one message, and how to send the first."""

import re
import subprocess
from urllib.parse import urlencode

import pytest
import requests
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, Receiver, wait_for

MARKUP = "<script>alert(1)</script>"
ADDRESS = re.compile(r'href="(/dashboard/messages/msg_[0-9A-Z]{26})"')


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def _send(customer: Customer, to: str = "15551234567", text: str = "Hello") -> str:
    """Send, and return the message's identifier."""
    answer = customer.send(to, text)
    assert answer.ok, answer.text
    message_id: str = answer.json()["id"]
    return message_id


def _settled(customer: Customer, message_id: str, status: str) -> None:
    def there() -> bool:
        found = customer.request("GET", f"/messages/{message_id}").json()
        return bool(found["status"] == status)

    wait_for(there, f"a {status} message")


def _filtered(person: Person, **chosen: str) -> requests.Response:
    return person.get(f"/dashboard/messages?{urlencode(chosen)}")


def test_a_message_links_to_its_steps_events_and_deliveries(
    page: Page, gateway: Gateway, enrol: Enrol
) -> None:
    customer, receiver = gateway.customer(), Receiver()
    hook = {"url": receiver.url(), "events": ["message.sent", "message.read"]}
    customer.request("POST", "/webhooks", json=hook)
    message_id = _send(customer, text="Good morning")
    receiver.wait_kind("message.read")
    receiver.close()
    signed_in(page, enrol(customer.account_id), "/dashboard/messages")
    row = page.get_by_role("row").filter(has_text="Good morning")
    expect(row).to_contain_text("+15551234567")
    expect(row).to_contain_text("Sent to")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("+15551234567")
    expect(page.locator("#id")).to_have_text(message_id)
    steps = page.locator("ol.steps > li")
    for position, status in enumerate(("pending", "sent", "delivered", "read")):
        expect(steps.nth(position)).to_contain_text(status)
    events = page.locator("ul.notices > li")
    expect(events.filter(has_text="message.sent")).to_contain_text("1 attempt")
    expect(events.filter(has_text="message.delivered")).to_contain_text("No webhook ")
    delivery = events.filter(has_text="message.read").get_by_role("link")
    expect(delivery).to_have_text(receiver.url())
    expect(delivery).to_have_attribute("href", re.compile("^/dashboard/deliveries/dlv_"))


def test_a_pending_message_reloads_itself_until_it_has_arrived(
    page: Page, gateway: Gateway, enrol: Enrol
) -> None:
    customer = gateway.customer()
    person = enrol(customer.account_id)
    signed_in(page, person, "/dashboard/messages")
    behaviour = f"{gateway.sandbox}/_sandbox/behaviour"
    requests.put(behaviour, json={"status_delay_ms": 2500}, timeout=WAIT_SECONDS)
    try:
        message_id = _send(customer)
        page.goto(f"/dashboard/messages/{message_id}")
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text("sent")
        expect(heading).to_contain_text("read")
    finally:
        requests.put(behaviour, json={"status_delay_ms": 0}, timeout=WAIT_SECONDS)
    assert page.locator("#live[hx-get]").count() == 0


def test_a_failed_message_shows_its_reason(page: Page, person: Person, owner: Customer) -> None:
    message_id = _send(owner, "15550100002")
    _settled(owner, message_id, "failed")
    signed_in(page, person, f"/dashboard/messages/{message_id}")
    expect(page.get_by_role("alert")).to_contain_text("Error 131049.")
    expect(page.get_by_role("alert")).to_contain_text("gets enough marketing messages.")
    expect(page.locator("ol.steps > li").last).to_contain_text("Error 131049")


def test_the_filter_finds_by_number_direction_and_status(
    page: Page, person: Person, owner: Customer, gateway: Gateway
) -> None:
    number = owner.number["phoneNumber"]
    gateway.sandbox_call(
        "inbound", to=number, type="text", text="An answer", **{"from": "15557654321"}
    )
    _send(owner, text="A question")

    def arrived() -> bool:
        return "An answer" in _filtered(person, direction="INBOUND").text

    wait_for(arrived, "the answer")
    signed_in(page, person, "/dashboard/messages")
    page.get_by_label("Direction").select_option("inbound")
    page.get_by_label("Number").select_option(owner.number["id"])
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("row").filter(has_text="An answer")).to_contain_text("+15557654321")
    expect(page.get_by_text("A question")).to_have_count(0)
    expect(page.get_by_label("Direction")).to_have_value("INBOUND")
    page.wait_for_load_state()
    page.get_by_label("Status").select_option("failed")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No message matches.")).to_be_visible()
    page.wait_for_load_state()
    page.get_by_role("link", name="Show all messages").click()
    expect(page.get_by_text("A question").first).to_be_visible()


@pytest.mark.parametrize("name", ["direction", "status"])
def test_an_unknown_filter_value_gets_an_error_message(person: Person, name: str) -> None:
    answer = _filtered(person, **{name: f'"{MARKUP}'})
    assert answer.status_code == 422
    assert f"There is no such {name}." in answer.text
    assert MARKUP not in answer.text


def test_the_filter_knows_no_number_of_another_account(person: Person, gateway: Gateway) -> None:
    foreign = gateway.customer().number["id"]
    assert _filtered(person, number_id=foreign).status_code == 404
    assert _filtered(person, number_id="num_unknown").status_code == 404


def test_a_page_past_the_end_leads_back_with_the_filter(person: Person, owner: Customer) -> None:
    _send(owner)
    answer = _filtered(person, direction="OUTBOUND", page="99")
    assert answer.status_code == 200
    assert " page 99." in answer.text
    assert 'href="/dashboard/messages?direction=OUTBOUND&amp;page=1"' in answer.text


def test_texts_and_names_from_outside_are_shown_as_text(gateway: Gateway, enrol: Enrol) -> None:
    customer = gateway.customer(with_number=False)
    signup = gateway.sandbox_call("signup", display_name=MARKUP)
    gateway.cli(
        "signup-links", "create", customer.account_id, "--slug", "of-markup", "--exact", "--yes"
    )
    claim = {name: signup[name] for name in ("code", "phone_number_id", "waba_id")}
    done = requests.post(
        f"{gateway.api}/signup/of-markup/complete", json=claim, timeout=WAIT_SECONDS
    )
    assert done.status_code == 201, done.text
    person = enrol(customer.account_id).signed_in()
    gateway.sandbox_call(
        "inbound",
        to=signup["display_phone_number"],
        type="text",
        text=MARKUP,
        **{"from": "15557654321"},
    )
    listed = wait_for(lambda: ADDRESS.search(person.get("/dashboard/messages").text), "the text")
    for path in ("/dashboard/messages", listed[1], "/dashboard/numbers"):
        shown = person.get(path).text
        assert MARKUP not in shown
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


def test_content_that_is_no_text_is_shown_as_sent(person: Person, owner: Customer) -> None:
    image = {"link": "https://example.com/a.jpg", "caption": MARKUP}
    body = {"number_id": owner.number["id"], "to": "15551234567", "type": "image", "image": image}
    sent = owner.request("POST", "/messages/send", json=body)
    assert sent.ok, sent.text
    shown = person.get(f"/dashboard/messages/{sent.json()['id']}").text
    assert "&#34;link&#34;: &#34;https://example.com/a.jpg&#34;" in shown
    assert MARKUP not in shown


def test_an_account_without_a_number_gets_a_link_to_the_signup_links(
    gateway: Gateway, enrol: Enrol
) -> None:
    person = enrol(gateway.customer(with_number=False).account_id).signed_in()
    shown = person.get("/dashboard/messages").text
    assert "No message yet." in shown
    assert 'href="/dashboard/links"' in shown.partition("<main")[2]
    assert "curl" not in shown


def test_the_first_message_is_sent_by_pasting_what_the_page_of_the_new_key_shows(
    page: Page, gateway: Gateway, enrol: Enrol
) -> None:
    customer = gateway.customer()
    person = enrol(customer.account_id)
    signed_in(page, person, "/dashboard/messages")
    empty = page.locator("#snippet").inner_text()
    page.get_by_role("link", name="an API key").click()
    page.get_by_label("Name of the new key").fill("First")
    page.wait_for_load_state()
    page.get_by_role("button", name="Create key").click()
    page.wait_for_load_state()
    page.get_by_role("button", name="Copy command").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    pasted = page.evaluate("navigator.clipboard.readText()")
    key = page.locator("#key").inner_text()
    assert _bash(pasted)
    assert _bash(f"export GATEWAY_KEY={key}\n{empty}")
    page.goto("/dashboard/messages")
    expect(page.get_by_role("row").filter(has_text="Hello")).to_have_count(2)


def _bash(command: str) -> bool:
    done = subprocess.run(
        ["bash", "-euc", command],
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return '"status":"sent"' in done.stdout


def test_reloading_the_page_of_a_new_key_creates_no_second_key(
    page: Page, person: Person, gateway: Gateway
) -> None:
    signed_in(page, person, "/dashboard/keys")
    page.get_by_label("Name of the new key").fill("Made once")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#key")).to_be_visible()
    page.wait_for_load_state()
    page.reload()
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    assert len([k for k in gateway.cli("keys", "list") if k["name"] == "Made once"]) == 1


def test_a_phone_shows_messages_without_scrolling_sideways(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer
) -> None:
    message_id = _send(owner, text="A" * 500)
    context = browser.new_context(
        base_url=gateway.url, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    signed_in(page, person, "/dashboard/messages")
    for path in ("/dashboard/messages", f"/dashboard/messages/{message_id}"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
