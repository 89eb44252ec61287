"""In a browser: times in the reader's zone, the header on a narrow screen, the font and the icon."""

import re

import requests
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import let_in, signed_in
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway

TIP = "time => getComputedStyle(time, '::after').content"


def test_a_list_shows_relative_times_and_exact_times_in_the_readers_zone(
    browser: Browser, gateway: Gateway, owner: Customer, enrol: Enrol
) -> None:
    owner.send("15551234567", "What time is it?")
    context = browser.new_context(base_url=gateway.url, timezone_id="Asia/Kolkata")
    let_in(context, enrol())
    page = context.new_page()
    page.goto("/dashboard/messages")
    row = page.get_by_role("row").filter(has_text="What time is it?")
    time = row.locator("time")
    expect(time).to_have_text("just now")
    assert time.evaluate(TIP) == "none"
    time.hover()
    assert re.search(r"[0-9]{2}:[0-9]{2}:[0-9]{2} GMT\+5:30", time.evaluate(TIP))
    page.mouse.move(0, 0)
    page.reload()
    row.get_by_role("link").focus()
    assert "GMT+5:30" in time.evaluate(TIP)
    row.get_by_role("link").click()
    expect(page.locator("ol.steps time").first).to_contain_text("GMT+5:30")
    page.goto("/dashboard/")
    chart = page.locator("section.graph").first
    # Whole hours in UTC.
    expect(chart.locator("text[data-when]").first).to_have_text(re.compile("^[0-9]{2}:30$"))
    said = chart.locator("title").last.text_content()
    assert re.match("[0-9]+ [A-Z][a-z]+, [0-9]{2}:30: [a-z]+ [0-9]", said or "")
    chart.locator("summary").click()
    expect(chart.locator("thead th").first).to_have_text("From (India Standard Time)")
    expect(chart.locator("tbody th").last).to_have_text(re.compile(", [0-9]{2}:30$"))
    context.close()


def test_without_scripts_charts_say_that_their_times_are_utc(owner: Customer, enrol: Enrol) -> None:
    owner.send("15551234567")
    page = enrol().signed_in().get("/dashboard/").text
    assert re.search(r'data-at="[^"]+T\d\d:00:00.000Z">\d\d:00</text>', page)
    assert re.search(r"<title [^>]+>\w+ \d+, \d\d:00 UTC: ", page)
    assert "<span data-zone>UTC</span>." in page


def test_a_relative_time_is_updated_while_the_page_is_open(
    page: Page, owner: Customer, enrol: Enrol
) -> None:
    owner.send("15551234567", "How old?")
    page.clock.install()
    signed_in(page, enrol(), "/dashboard/messages")
    time = page.get_by_role("row").filter(has_text="How old?").locator("time")
    expect(time).to_have_text("just now")
    page.clock.fast_forward("05:30")
    expect(time).to_have_text("5 min ago")
    page.clock.fast_forward("02:00:00")
    expect(time).to_have_text("2 h ago")


def test_on_a_narrow_screen_the_menu_opens_without_scripts(
    browser: Browser, gateway: Gateway, enrol: Enrol
) -> None:
    context = browser.new_context(
        base_url=gateway.url, java_script_enabled=False, viewport={"width": 390, "height": 800}
    )
    let_in(context, enrol())
    page = context.new_page()
    page.goto("/dashboard/messages")
    header = page.get_by_role("banner").bounding_box()
    assert header is not None
    assert header["height"] <= 64
    pages = page.get_by_role("navigation", name="Pages", exact=True)
    expect(pages).to_have_count(0)
    page.get_by_text("Menu").click()
    pages.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks")
    context.close()


def test_escape_closes_the_menu(page: Page, enrol: Enrol) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    signed_in(page, enrol(), "/dashboard/messages")
    page.locator(".menu summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Pages", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("navigation", name="Pages", exact=True)).to_have_count(0)


def test_the_font_and_the_icon_come_from_the_service_itself(
    page: Page, gateway: Gateway, enrol: Enrol
) -> None:
    signed_in(page, enrol(), "/dashboard/")
    page.wait_for_function("document.fonts.status === 'loaded'")
    assert page.evaluate("document.fonts.check('16px \"Inter Variable\"', 'Text')")
    icon = page.locator("link[rel=icon]").get_attribute("href")
    answer = requests.get(f"{gateway.url}{icon}", timeout=WAIT_SECONDS)
    assert (answer.status_code, answer.headers["Content-Type"]) == (
        200,
        "image/svg+xml; charset=utf-8",
    )
