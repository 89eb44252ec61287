"""The overview: use of the limit, links and charts. Also long lists, refused methods, the log's account."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.harness import Customer, Gateway, Receiver, wait_for
from dashboard.site import PER_PAGE


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def test_the_overview_says_how_much_of_the_limit_is_used_without_using_it(
    gateway: Gateway, enrol: Enrol
) -> None:
    customer = gateway.customer("starter", with_number=False)
    person = enrol(customer.account_id).signed_in()
    assert "0 of 100,000" in person.get("/dashboard/").text
    answer = [customer.request("GET", "/numbers") for _ in range(3)][-1]
    assert answer.headers["X-RateLimit-Remaining"] == "99997"
    for _ in range(2):
        shown = person.get("/dashboard/").text
        assert "3 of 100,000" in shown
        assert "starter" in shown
        assert "The minute ends in" in shown


def test_the_overviews_figures_link_to_their_lists(person: Person, owner: Customer) -> None:
    owner.send("15551234567")
    hook = {"url": "http://127.0.0.1:9/x", "events": ["message.sent"]}
    made = owner.request("POST", "/webhooks", json=hook).json()
    owner.request("PATCH", f"/webhooks/{made['id']}", json={"active": False})
    shown = person.get("/dashboard/").text.partition("<main")[2]
    for path in ("deliveries", f"webhooks/{made['id']}", "?range=30d"):
        assert f'href="/dashboard/{path}"' in shown
    for label, wanted in (("sent", "direction=OUTBOUND"), ("received", "direction=INBOUND")):
        listed = owner.request("GET", f"/messages?{wanted}").json()["pagination"]["total"]
        assert (f'href="/dashboard/messages?{wanted}">{listed} {label}<' in shown) == (listed > 0)


def test_charts_work_by_keyboard(page: Page, person: Person, owner: Customer) -> None:
    owner.send("15551234567")
    signed_in(page, person)
    page.wait_for_load_state()
    week = page.get_by_role("link", name="7 days")
    week.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/?range=7d")
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")
    chart = page.get_by_role("img", name="Messages sent, 7 days")
    expect(chart).to_be_visible()
    page.locator("section", has=chart).locator("summary").last.focus()
    page.keyboard.press("Enter")
    table = page.get_by_role("region", name="Messages sent, as a table")
    expect(table.get_by_role("columnheader").first).to_have_text("From (UTC)")
    expect(table.get_by_role("row")).to_have_count(29)
    page.keyboard.press("Tab")
    expect(table).to_be_focused()


def test_a_receivers_responses_are_charted_and_end_the_first_steps(
    gateway: Gateway, enrol: Enrol, page: Page
) -> None:
    customer = gateway.customer()
    person, receiver = enrol(customer.account_id).signed_in(), Receiver()
    hook = {"url": receiver.url(), "events": ["message.sent"]}
    made = customer.request("POST", "/webhooks", json=hook).json()
    signed_in(page, person)
    steps = page.locator(".steps li")
    expect(steps.get_by_text("done")).to_have_count(3)
    customer.send("15551234567")
    wait_for(lambda: "First steps" not in person.get("/dashboard/").text, "the first event")
    page.reload()
    expect(page.get_by_role("img", name="Delivery attempts, 24 hours")).to_be_visible()
    expect(page.get_by_text("Nothing needs attention.")).to_be_visible()
    page.goto(f"/dashboard/webhooks/{made['id']}?range=1h")
    expect(page.get_by_role("listitem").filter(has_text="2xx responses 100 %")).to_be_visible()
    assert faults(page, "webhook with charts") == []
    page.goto("/dashboard/?range=30d")
    for summary in page.locator(".graph summary").all():
        summary.click()
    assert faults(page, "overview with tables") == []
    receiver.close()


@pytest.mark.parametrize(("path", "field"), [("keys", "name"), ("links", "slug")])
def test_a_long_list_has_pages(gateway: Gateway, enrol: Enrol, path: str, field: str) -> None:
    person = enrol(gateway.customer(with_number=False).account_id).signed_in()
    address = f"/dashboard/{path}"
    token = person.token(address)
    for count in range(PER_PAGE + 1):
        person.post(address, None, csrf_token=token, **{field: f"{field}-of-the-list-{count}-"})
    first, second = person.get(address).text, person.get(f"{address}?page=2").text
    assert f"1 to {PER_PAGE} of " in first
    assert f"{field}-of-the-list-{PER_PAGE}-" in first
    assert f"{field}-of-the-list-0-" not in first
    assert f"{field}-of-the-list-0-" in second
    assert f"{PER_PAGE + 1} to " in second
    beyond = person.get(f"{address}?page=3")
    assert beyond.status_code == 200
    assert " page 3." in beyond.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/dashboard/", "GET, HEAD, OPTIONS"),
        ("POST", "/dashboard/numbers", "GET, HEAD, OPTIONS"),
        ("DELETE", "/dashboard/keys", "GET, HEAD, OPTIONS, POST"),
        ("GET", "/dashboard/sign-out", "OPTIONS, POST"),
    ],
)
def test_a_refused_method_gets_the_allowed_ones(
    person: Person, method: str, path: str, allowed: str
) -> None:
    answer = person.jar.request(method, person.url + path, timeout=20)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == allowed


def test_the_line_of_a_request_names_the_account_of_the_session(
    gateway: Gateway, person: Person, owner: Customer
) -> None:
    answer = person.get("/dashboard/links?page=7")
    line = wait_for(lambda: _line(gateway, answer.headers["X-Request-Id"]), "the request's line")
    assert line["path"] == "/dashboard/links"
    assert line["account_id"] == owner.account_id


def _line(gateway: Gateway, request_id: str) -> dict[str, Any] | None:
    for text in gateway.log().splitlines():
        if request_id in text and text.endswith("}"):
            line: dict[str, Any] = json.loads(text[text.index("{") :])
            if line["message"] == "request":
                return line
    return None
