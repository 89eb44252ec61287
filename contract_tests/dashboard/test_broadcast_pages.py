"""Broadcasts in the dashboard: from the list of recipients to messages that arrive, by keyboard alone."""

import csv
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.broadcast_steps import NAME, PEOPLE, approve_template, choices
from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults, leave
from contract_tests.dashboard.person import Person, let_in, signed_in
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for

# The most presses of Tab until a control of a page has the focus.
MOST_TABS = 120
WIDTHS = {"phone": 390, "desktop": 1440}


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


@pytest.fixture(scope="module", autouse=True)
def template(owner: Customer) -> str:
    """The name of an approved template of the owner's number."""
    approve_template(owner)
    return NAME


def reach(page: Page, selector: str) -> None:
    """Press Tab until the control has the focus."""
    page.wait_for_load_state()
    wanted = page.locator("main").locator(selector)
    expect(wanted).to_have_count(1)
    for _ in range(MOST_TABS):
        if wanted.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"no focus by Tab: {selector}")


def press(page: Page, selector: str) -> None:
    """Press Enter on a link or button, and wait for the next page."""
    reach(page, selector)
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_a_broadcast_is_created_tested_and_sent_by_keyboard(
    page: Page, person: Person, owner: Customer, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    signed_in(page, person, "/dashboard/broadcasts")
    press(page, "a[href$='/broadcasts/new']:nth-of-type(1) >> nth=0")
    reach(page, "select[name=template]")
    page.keyboard.type(NAME)
    press(page, "button:has-text('Choose template')")
    expect(page.locator(".screen")).to_contain_text("Hello {{1}}")
    reach(page, "textarea[name=pasted]")
    page.keyboard.insert_text(f"{PEOPLE}15551234501,Ana again,10 %\nnobody,Cal,5 %\n")
    press(page, "button:has-text('Check recipients')")
    expect(page.locator("main")).to_contain_text("Line 5, phone")
    expect(page.locator("main")).to_contain_text("duplicate removed")
    expect(page.locator(".screen")).to_contain_text("Hello Ana, spring is here. Take 10 % off.")
    assert faults(page, f"broadcast-set-up-{width}") == []
    page.set_viewport_size({"width": width, "height": 800})
    reach(page, "input[name=hours]:checked")
    page.keyboard.press("ArrowDown")
    reach(page, "input[name=skip_wrong]")
    page.keyboard.press("Space")
    press(page, "button:has-text('Create draft')")
    expect(page.get_by_role("status")).to_contain_text("draft")
    assert faults(page, f"broadcast-draft-{width}") == []
    page.set_viewport_size({"width": width, "height": 800})
    reach(page, "input[name=to]")
    page.keyboard.type("+1 555 123 4599")
    press(page, "button:has-text('Send a test')")
    expect(page.get_by_role("status")).to_contain_text("test")
    press(page, "a#start")
    expect(page.get_by_role("heading", level=1)).to_contain_text("2 people")
    press(page, "button:has-text('Send to 2 people')")
    expect(page.locator("#live h1")).to_contain_text("done")
    assert faults(page, f"broadcast-done-{width}") == []
    leave(page)
    broadcast_id = page.url.rpartition("/")[2]
    counts = owner.request("GET", f"/broadcasts/{broadcast_id}").json()["counts"]
    assert counts["sent"] + counts["delivered"] + counts["read"] == 2


def test_the_page_counts_while_messages_are_sent(
    page: Page, person: Person, owner: Customer, gateway: Gateway
) -> None:
    recipients = [{"to": f"1555200{place:04}"} for place in range(40)]
    parameters = [{"type": "text", "text": "you"}, {"type": "text", "text": "5 %"}]
    template = {
        "name": NAME,
        "language": {"code": "en_US"},
        "components": [{"type": "body", "parameters": parameters}],
    }
    asked = {"name": "Live", "numberId": owner.number["id"], "type": "template"}
    asked |= {"template": template, "recipients": recipients, "ratePerSecond": 4}
    asked |= {"localHours": {"begin": "00:00", "end": "24:00"}}
    made = owner.request("POST", "/broadcasts", json=asked).json()["id"]
    signed_in(page, person, f"/dashboard/broadcasts/{made}")
    owner.request("POST", f"/broadcasts/{made}/start")
    page.reload()
    first = page.locator(".reach progress").get_attribute("value")
    expect(page.locator(".reach progress")).not_to_have_attribute("value", first or "")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("h1")).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).to_contain_text("running")
    page.get_by_role("link", name="Cancel broadcast").click()
    page.get_by_role("button", name="Cancel broadcast").click()
    expect(page.locator("h1")).to_contain_text("cancelled")
    leave(page)

    def is_over() -> bool:
        return bool(owner.request("GET", f"/broadcasts/{made}").json()["endedAt"])

    wait_for(is_over, "the end")
    rows = list(
        csv.DictReader(person.get(f"/dashboard/broadcasts/{made}/recipients.csv").text.splitlines())
    )
    assert [row["to"] for row in rows] == [each["to"] for each in recipients]
    assert {"skipped"} < {row["status"] for row in rows}
    assert gateway.url in page.url


def test_a_list_larger_than_other_forms_is_uploaded(
    gateway: Gateway, person: Person, owner: Customer
) -> None:
    rows = "".join(f"155530{place:05},{'x' * 40}\n" for place in range(30_000))
    form = choices(gateway, owner) | {"csrf_token": person.token("/dashboard/keys")}
    files = {"file": ("large.csv", f"phone,name\n{rows}".encode())}
    answer = person.jar.post(
        f"{person.url}/dashboard/broadcasts/new",
        data=form,
        files=files,
        timeout=WAIT_SECONDS,
        allow_redirects=False,
    )
    assert answer.status_code == 303
    file_id = urlsplit(answer.headers["Location"]).path.rpartition("/")[2]
    kept = owner.request("GET", f"/recipient-files/{file_id}").json()
    assert kept["recipients"] == 30_000


def test_the_form_offers_the_readers_time_zone(
    browser: Browser, gateway: Gateway, person: Person
) -> None:
    context = browser.new_context(base_url=gateway.url, timezone_id="Asia/Tokyo")
    let_in(context, person)
    page = context.new_page()
    page.goto("/dashboard/broadcasts/new")
    page.get_by_label("Approved template").select_option(label=f"{NAME} (en_US, marketing)")
    page.get_by_role("button", name="Choose template").click()
    page.get_by_label("Or paste recipients").fill(PEOPLE)
    page.get_by_role("button", name="Check recipients").click()
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
    context.close()
