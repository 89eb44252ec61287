"""The delivery pages in a browser with a real receiver: the list, one delivery, and redelivery."""

import json
import re
import threading
from urllib.parse import urlencode

import pytest
import requests
from playwright.sync_api import Browser, Locator, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.harness import (
    WAIT_SECONDS,
    Customer,
    Gateway,
    Receiver,
    Reply,
    wait_for,
)
from contract_tests.scripted_receiver import ScriptedReceiver
from webhooks.reasons import COULD_NOT_CONNECT, NO_RESPONSE

MARKUP = b"<script>alert(1)</script><b>broken</b>"
LONG_AGO, FAR_AHEAD = "2020-01-01T00:00", "2999-01-01T00:00"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def _hook(customer: Customer, url: str, *events: str) -> str:
    hook = {"url": url, "events": list(events or ("message.sent",))}
    answer = customer.request("POST", "/webhooks", json=hook)
    assert answer.ok, answer.text
    webhook_id: str = answer.json()["id"]
    return webhook_id


def _state(customer: Customer, delivery_id: str) -> str:
    state: str = customer.request("GET", f"/deliveries/{delivery_id}").json()["state"]
    return state


def _wait_for_state(customer: Customer, delivery_id: str, state: str) -> None:
    wait_for(lambda: _state(customer, delivery_id) == state, f"a {state} delivery")


def _delivery(customer: Customer, hook: str, state: str) -> str:
    """Send a message. Returns the identifier of its delivery once it is in this state."""
    assert customer.send("15551234567", "Good morning").ok
    found = customer.request("GET", f"/webhooks/{hook}/deliveries").json()["data"]
    newest: str = found[0]["id"]
    _wait_for_state(customer, newest, state)
    return newest


def _switch_off(customer: Customer, hook: str) -> None:
    assert customer.request("PATCH", f"/webhooks/{hook}", json={"active": False}).ok


def _list(person: Person, /, **query: str) -> requests.Response:
    return person.get(f"/dashboard/deliveries?{urlencode(query)}")


def test_a_failed_delivery_says_why_and_shows_the_headers_that_the_receiver_got(
    page: Page, person: Person, owner: Customer, receiver: Receiver
) -> None:
    receiver.status = 500
    hook = _hook(owner, receiver.url("/broken"))
    delivery_id = _delivery(owner, hook, "failed")
    signed_in(page, person, f"/dashboard/deliveries/{delivery_id}")
    expect(page.locator("#why")).to_contain_text("The receiver returned 500.")
    expect(page.locator("#means")).to_contain_text(re.compile(r"Failed .*\b4 attempts\b"))
    requests_ = receiver.wait("/broken", 4)
    attempts = page.locator("ol.timeline > li.attempt")
    expect(attempts).to_have_count(4)
    for position, request in enumerate(requests_):
        attempts.nth(position).locator("summary").click()
        for name, shown in _headers(attempts.nth(position).locator("dl")).items():
            assert request.headers[name.lower()] == shown
    assert page.locator("#body").text_content() == requests_[0].body.decode()
    expect(page.get_by_text("Good morning").first).to_be_visible()
    expect(page.get_by_role("link", name="The message")).to_have_attribute(
        "href", re.compile("^/dashboard/messages/msg_")
    )


def _headers(shown: Locator) -> dict[str, str]:
    names, values = (shown.locator(tag).all_inner_texts() for tag in ("dt", "dd"))
    assert len(names) == 10
    return dict(zip(names, values, strict=True))


def test_a_rotated_secret_leaves_the_old_signature_unknown(
    person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _hook(owner, receiver.url("/rotated"))
    path = f"/dashboard/deliveries/{_delivery(owner, hook, 'delivered')}"
    assert "was rotated since" not in person.get(path).text
    assert owner.request("POST", f"/webhooks/{hook}/rotate-secret").ok
    shown = person.get(path).text
    assert "was rotated since" in shown
    assert re.search("sha256=[0-9a-f]|v1,[A-Za-z0-9]", shown) is None


def test_a_receivers_response_is_shown_as_text(page: Page, person: Person, owner: Customer) -> None:
    receiver = ScriptedReceiver()
    head = f"HTTP/1.0 503 Broken\r\nContent-Length: {len(MARKUP)}\r\n\r\n".encode()
    hook = _hook(owner, receiver.url("/markup", lambda: [head + MARKUP]))
    delivery_id = _delivery(owner, hook, "failed")
    receiver.close()
    signed_in(page, person, f"/dashboard/deliveries/{delivery_id}")
    expect(page.locator("ol.timeline pre").first).to_have_text(MARKUP.decode())
    expect(page.locator("#why")).to_contain_text("The receiver returned 503.")


def test_an_unreachable_receiver_shows_a_connection_error(person: Person, owner: Customer) -> None:
    hook = _hook(owner, "http://127.0.0.1:9/nobody")
    shown = person.get(f"/dashboard/deliveries/{_delivery(owner, hook, 'failed')}").text
    why = shown.partition('id="why">')[2].partition("</p>")[0]
    assert why.endswith(f"{NO_RESPONSE}{COULD_NOT_CONNECT}")


def test_redelivering_shows_its_progress_without_reloading_the_page(
    page: Page, person: Person, owner: Customer, receiver: Receiver
) -> None:
    receiver.status = 500
    hook = _hook(owner, receiver.url("/live"))
    delivery_id = _delivery(owner, hook, "failed")
    signed_in(page, person, f"/dashboard/deliveries/{delivery_id}")
    answering = threading.Event()
    receiver.reply = lambda _: Reply(200 if answering.wait(WAIT_SECONDS) else 500)
    page.get_by_role("button", name="Redeliver").click()
    expect(page.get_by_role("status")).to_contain_text("The redelivery is scheduled.")
    expect(page.get_by_text("Attempt 5 is running.")).to_be_visible()
    page.evaluate("window.kept = true")
    page.locator("ol.timeline summary").first.click()
    answering.set()
    expect(page.locator("h1 .badge")).to_have_text("delivered")
    expect(page.locator("#why")).to_have_count(0)
    expect(page.locator("ol.timeline > li.attempt")).to_have_count(5)
    # Open details stay open.
    expect(page.locator("ol.timeline dl").first).to_be_visible()
    assert page.evaluate("window.kept")
    assert page.locator("#live").get_attribute("hx-get") is None


def test_the_list_covers_all_webhooks_or_one_and_each_filter_narrows_it(
    person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _hook(owner, receiver.url("/list"), "message.sent", "message.delivered")
    delivered = _delivery(owner, hook, "delivered")
    receiver.wait_kind("message.delivered", "/list")
    other = _hook(owner, receiver.url("/other"))
    assert delivered in _list(person).text, "all webhooks are listed"
    assert "No delivery yet." in _list(person, webhook=other).text
    assert f'value="{other}" selected' in _list(person, webhook=other).text
    assert delivered in _list(person, webhook=hook).text
    for query, is_there in (
        ({"state": "delivered"}, True),
        ({"state": "skipped"}, False),
        ({"kind": "message.sent"}, True),
        ({"kind": "message.read"}, False),
        ({"since": LONG_AGO}, True),
        ({"since": FAR_AHEAD}, False),
        ({"until": FAR_AHEAD}, True),
        ({"until": LONG_AGO}, False),
        ({"answer": "2xx"}, True),
        ({"answer": "none"}, False),
        ({"person": "+1 (555) 123-4567"}, True),
        ({"person": "15550009999"}, False),
    ):
        answer = _list(person, webhook=hook, **query)
        assert answer.status_code == 200
        assert ("No delivery matches." not in answer.text) is is_there, query
        assert ("/dashboard/deliveries/dlv_" in answer.text) is is_there, query
    nothing = _list(person, webhook=hook, state="skipped").text
    assert f'href="/dashboard/deliveries?webhook={hook}">Show all' in nothing


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("since", "yesterday"),
        ("until", "2026-02-31T00:00"),
        ("since", "0000-01-01T00:00"),
        ("state", "gone"),
        ("kind", "message.lost"),
    ],
)
def test_an_invalid_filter_is_an_error_at_its_field(
    person: Person, owner: Customer, field: str, value: str
) -> None:
    _hook(owner, "http://127.0.0.1:9/problem")
    answer = _list(person, **{field: value})
    assert answer.status_code == 422
    assert f'id="problem-{field}"' in answer.text
    assert f'aria-describedby="problem-{field}"' in answer.text


def test_an_unknown_or_foreign_webhook_has_no_list(
    person: Person, gateway: Gateway, other_hook: str
) -> None:
    for webhook_id in ("wh_unknown", other_hook):
        assert _list(person, webhook=webhook_id).status_code == 404
        path = f"/dashboard/deliveries/redeliver?webhook={webhook_id}"
        assert person.get(path).status_code == 404
    assert gateway.is_ready()


@pytest.fixture(scope="module")
def other_hook(gateway: Gateway) -> str:
    """A webhook of another account."""
    return _hook(gateway.customer(with_number=False), "http://127.0.0.1:9/foreign")


def test_a_long_list_has_pages_that_keep_the_filter(
    person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _hook(owner, receiver.url("/long"))
    for _ in range(51):
        assert owner.send("15551234567").ok
    chosen = {"webhook": hook, "kind": "message.sent"}
    first = _list(person, **chosen).text
    assert "51 deliveries in all" in first
    assert len(re.findall(r'href="/dashboard/deliveries/dlv_', first)) == 50
    [older] = re.findall(rf"\?webhook={hook}&amp;kind=message.sent&amp;before=(dlv_\w+)", first)
    rest = _list(person, **chosen, before=older).text
    assert len(re.findall(r'href="/dashboard/deliveries/dlv_', rest)) == 1


def test_missed_events_of_a_webhook_are_listed_counted_and_redelivered(
    page: Page, person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _hook(owner, receiver.url("/many"))
    receiver.status = 500
    failed = [_delivery(owner, hook, "failed") for _ in range(2)]
    _switch_off(owner, hook)
    skipped = _delivery(owner, hook, "skipped")
    owner.request("PATCH", f"/webhooks/{hook}", json={"active": True})
    receiver.status = 200
    signed_in(page, person, f"/dashboard/webhooks/{hook}")
    page.get_by_role("link", name="Missed deliveries").click()
    expect(page.locator("tbody").get_by_role("row")).to_have_count(3)
    page.get_by_role("link", name="Redeliver all that match…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Redeliver 3 deliveries?")
    page.wait_for_load_state()
    page.get_by_role("button", name="Redeliver").click()
    expect(page.get_by_role("status")).to_contain_text("The redelivery is scheduled.")
    expect(page).to_have_url(re.compile(f"webhook={hook}&state=undelivered&since="))
    for delivery_id in (*failed, skipped):
        _wait_for_state(owner, delivery_id, "delivered")
    nothing = person.get(page.url.removeprefix(person.url).replace("?", "/redeliver?"))
    assert "Nothing to redeliver." in nothing.text


def test_deliveries_are_chosen_and_redelivered_by_keyboard(
    page: Page, person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _hook(owner, receiver.url("/chosen"))
    receiver.status = 500
    failed = [_delivery(owner, hook, "failed") for _ in range(3)]
    receiver.status = 200
    signed_in(page, person, f"/dashboard/deliveries?webhook={hook}&answer=5xx")
    boxes = page.locator("tbody").get_by_role("checkbox")
    expect(boxes).to_have_count(3)
    boxes.first.focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Redeliver selected").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The redelivery is scheduled.")
    expect(page).to_have_url(re.compile(f"webhook={hook}&answer=5xx$"))
    _wait_for_state(owner, failed[2], "delivered")
    assert [_state(owner, each) for each in failed[:2]] == ["failed", "failed"]
    page.get_by_role("link", name="Redeliver all that match…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Redeliver 2 deliveries?")
    page.get_by_role("button", name="Redeliver").focus()
    page.keyboard.press("Enter")
    for each in failed:
        _wait_for_state(owner, each, "delivered")


def test_attempts_are_compared_and_the_json_is_copied(
    page: Page, person: Person, owner: Customer, receiver: Receiver
) -> None:
    receiver.status = 500
    hook = _hook(owner, receiver.url("/compared"))
    delivery_id = _delivery(owner, hook, "failed")
    signed_in(page, person, f"/dashboard/deliveries/{delivery_id}")
    assert page.locator("#json .json-name").count() > 5
    page.get_by_role("button", name="Copy JSON").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied == json.loads(receiver.wait("/compared")[0].body)
    page.locator("summary", has_text="curl").click()
    expect(page.locator("#curl")).to_contain_text("SECRET='whsec_...'")
    assert faults(page, "delivery-failed") == []
    page.get_by_role("link", name="Compare two attempts").click()
    page.locator("select[name=a]").select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("columnheader")).to_have_text(["Field", "Attempt 1", "Attempt 4"])
    assert faults(page, "compare") == []


def test_an_inactive_webhook_has_to_be_enabled_first(person: Person, owner: Customer) -> None:
    hook = _hook(owner, "http://127.0.0.1:9/off")
    _switch_off(owner, hook)
    delivery_id = _delivery(owner, hook, "skipped")
    one = f"/dashboard/deliveries/{delivery_id}"
    many = f"/dashboard/deliveries/redeliver?webhook={hook}"
    for answer in (
        person.get(one),
        person.submit(f"{one}/redeliver", page=one),
        person.get(many),
        person.submit(many, page=one),
        _list(person, webhook=hook),
    ):
        assert f'<a href="/dashboard/webhooks/{hook}">' in answer.text
        assert "nable it" in answer.text
    assert person.submit(f"{one}/redeliver", page=one).status_code == 409
    assert person.submit(many, page=one).status_code == 409
    assert re.search(r'id="means">\s*Skipped', person.get(one).text)
    assert _state(owner, delivery_id) == "skipped"


def test_an_account_without_a_webhook_gets_a_link_to_create_one(
    gateway: Gateway, enrol: Enrol
) -> None:
    person = enrol(gateway.customer(with_number=False).account_id).signed_in()
    answer = person.get("/dashboard/deliveries")
    assert answer.status_code == 200
    assert "No webhook yet." in answer.text
    assert 'href="/dashboard/webhooks/new"' in answer.text


def test_a_phone_shows_the_delivery_pages_without_scrolling_sideways(
    browser: Browser, gateway: Gateway, person: Person, owner: Customer, receiver: Receiver
) -> None:
    hook = _hook(owner, receiver.url(f"/{'long' * 40}"))
    delivery_id = _delivery(owner, hook, "delivered")
    context = browser.new_context(
        base_url=gateway.url, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    signed_in(page, person, f"/dashboard/deliveries/{delivery_id}")
    page.locator("ol.timeline summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for path in (f"deliveries?webhook={hook}", f"deliveries/redeliver?webhook={hook}"):
        page.goto(f"/dashboard/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
