"""The Live page in a browser: immediate updates, pause, filters, and the stream behind it."""

import json
import re
import threading
import time
from collections.abc import Callable

import pytest
import requests
from playwright.sync_api import Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.harness import Customer, Gateway, Receiver, wait_for

LIVE, STREAM = "/dashboard/live", "/dashboard/live/stream"
TYPE = "text/event-stream"
MOST_LAG_SECONDS = 1
ROWS = "#happened li:not([hidden])"
Send = Callable[[str], None]


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    return enrol().signed_in()


@pytest.fixture
def send(owner: Customer) -> Send:
    """Send a text, which causes three events."""

    def send_text(text: str) -> None:
        body = {"number_id": owner.number["id"], "to": "15557650001", "type": "text"}
        owner.request("POST", "/messages/send", json=body | {"text": {"body": text}})

    return send_text


def test_events_appear_at_once_and_are_held_while_paused(
    page: Page, person: Person, send: Send
) -> None:
    signed_in(page, person, LIVE)
    state, rows = page.locator("#state"), page.locator(ROWS)
    expect(state).to_have_text("Connected.")
    nothing = page.get_by_text("Nothing to show yet.")
    expect(nothing).to_be_visible()
    expect(page.locator("main").get_by_role("link", name="sandbox")).to_be_visible()
    send("the first")
    began = time.monotonic()
    expect(rows.filter(has_text="message.sent")).to_contain_text("the first")
    assert time.monotonic() - began < MOST_LAG_SECONDS
    expect(nothing).to_be_hidden()
    expect(rows.filter(has_text="message.read")).to_have_count(1)
    page.get_by_role("button", name="Pause").press("Enter")
    send("the second")
    expect(state).to_have_text("Paused. 3 new.")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Resume").press("Enter")
    expect(rows).to_have_count(6)
    expect(rows.first).to_contain_text("the second")
    page.locator("#filter select").select_option("message.sent")
    expect(rows).to_have_count(2)
    assert faults(page, "live") == []
    page.get_by_role("link", name="15557650001").first.click()
    expect(page.locator("main")).to_contain_text("the second")


def test_only_the_accounts_own_attempts_and_notices_appear_at_once(
    page: Page, gateway: Gateway, enrol: Enrol, receiver: Receiver
) -> None:
    stranger, customer = gateway.customer(), gateway.customer()
    receiver.status = 500
    for path, each in (("/theirs", stranger), ("/ours", customer)):
        hook = {"url": receiver.url(path), "events": ["message.sent"]}
        assert each.request("POST", "/webhooks", json=hook).ok
    signed_in(page, enrol(customer.account_id), LIVE)
    state, rows, show = page.locator("#state"), page.locator(ROWS), page.get_by_label("Show")
    expect(state).to_have_text("Connected.")
    assert stranger.send("15557650001").ok
    receiver.wait("/theirs")
    assert customer.send("15557650001").ok
    [received, *_] = receiver.wait("/ours")
    failed = rows.filter(has_text="Failed: 500")
    expect(failed.first).to_contain_text("message.sent")
    assert time.time() - received.at < MOST_LAG_SECONDS
    for each in (stranger, customer):
        gateway.give_notice(each)
    notice = rows.filter(has_text="phone number quality update: throughput upgrade")
    expect(notice).to_contain_text(customer.number["phoneNumber"])
    # The first attempt and three retries.
    receiver.wait("/theirs", 4)
    expect(failed).to_have_count(4)
    expect(rows.filter(has_text="/theirs")).to_have_count(0)
    assert faults(page, "live attempts") == []
    show.press("End")
    expect(rows).to_have_count(1)
    expect(notice).to_have_count(1)
    show.press_sequentially("Failed")
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Pause").press("Enter")
    assert customer.send("15557650001").ok
    expect(state).to_have_text("Paused. 4 new.")
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Resume").press("Enter")
    expect(failed).to_have_count(8)
    rows.first.get_by_role("link", name="message.sent").press("Enter")
    expect(page.locator("main")).to_contain_text(re.compile(r"Failed .*\b4 attempts\b"))


def test_a_flood_hides_no_rare_records_and_shows_the_omitted_number(
    page: Page, person: Person
) -> None:
    attempt = {"timestamp": "2026-11-20T09:30:00.000Z", "deliveryId": "dlv_1", "attempt": 1}
    attempt |= {"event": "message.sent", "url": "https://a.example/", "durationMs": 10_000}
    failed = attempt | {"statusCode": None, "error": "Late."}
    blocks = [("omitted", {"kind": "events"}), ("attempt.failed", failed)]
    blocks += [("omitted", {"kind": "attempt.failed", "count": 12})]
    blocks += [("attempt.succeeded", attempt | {"statusCode": 200, "error": None})] * 500
    body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in blocks)
    # Only once: the browser would request the same again.
    page.route(f"**{STREAM}", lambda route: route.fulfill(body=body, content_type=TYPE), times=1)
    signed_in(page, person, LIVE)
    rows = page.locator(ROWS)
    expect(rows.filter(has_text="Delivered: 200")).to_have_count(100)
    expect(rows.last).to_contain_text("earlier events")
    page.get_by_label("Show").press_sequentially("Failed")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("12 more failed")
    expect(rows.last).to_contain_text("Failed: no response")
    expect(rows.last).to_contain_text("to https://a.example/: Late.")


def test_a_reconnecting_browser_misses_nothing(
    gateway: Gateway, owner: Customer, person: Person, send: Send
) -> None:
    send("seen")
    seen = owner.request("GET", "/events?limit=1").json()["data"][0]
    after = owner.request("GET", f"/events?limit=100&after={seen['cursor']}").json()["data"]
    assert after
    headers = {"Last-Event-ID": seen["cursor"]}
    with person.jar.get(gateway.url + STREAM, headers=headers, stream=True, timeout=10) as answer:
        ids = (line[4:] for line in answer.iter_lines(decode_unicode=True) if line[:4] == "id: ")
        assert [next(ids) for _ in (seen, *after)] == [each["cursor"] for each in (seen, *after)]


def test_a_visitor_gets_no_stream(gateway: Gateway) -> None:
    answer = requests.get(gateway.url + STREAM, timeout=5)
    assert answer.status_code == 401
    assert requests.post(gateway.url + STREAM, timeout=5).status_code == 405


def test_the_stream_ends_with_the_session(enrol: Enrol, gateway: Gateway) -> None:
    someone = enrol().signed_in()
    with someone.jar.get(gateway.url + STREAM, stream=True, timeout=10) as answer:
        assert answer.status_code == 200
        ended = threading.Event()

        def read() -> None:
            list(answer.iter_lines())
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        someone.submit("/dashboard/sign-out", page="/dashboard/you")
        wait_for(ended.is_set, "the end of the stream")
