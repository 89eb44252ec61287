"""A signup that ends in the browser, before a post."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Route

from contract_tests.connect.conftest import Link, NewLink
from contract_tests.connect.visitor import Popup, Visit
from contract_tests.harness import Gateway

# The page while the platform's window is open.
WAITING = '[data-state="waiting"]'
# By the platform's name of the step.
TO_STEP: dict[str, Callable[[Popup], object]] = {
    "BUSINESS_ACCOUNT_SELECTION": lambda popup: popup.log_in(),
    "WABA_PHONE_PROFILE_PICKER": lambda popup: popup.log_in().choose_business(),
    "PHONE_NUMBER_SETUP": lambda popup: popup.log_in().choose_business().choose_number(),
    "PHONE_NUMBER_VERIFICATION": lambda popup: (
        popup.log_in().choose_business().choose_number().enter_number("15553002001")
    ),
    "PERMISSIONS": lambda popup: (
        popup.log_in().choose_business().choose_number().enter_number("15553002001").verify()
    ),
}


@pytest.fixture(scope="module")
def link(new_link: NewLink) -> Link:
    """A link that stays open: no test here completes it."""
    return new_link()


@pytest.fixture(autouse=True)
def nothing_changes(link: Link) -> None:
    """No number may appear after any of these tests."""
    assert link.numbers() == []


@pytest.mark.parametrize("step", TO_STEP)
def test_cancelling_says_at_which_step_it_was(visit: Visit, link: Link, step: str) -> None:
    popup = visit.open(link.slug).begin()
    TO_STEP[step](popup)
    popup.cancel()
    visit.sees("cancelled")
    [shown] = visit.page.locator("[data-step]:visible").all()
    assert shown.get_attribute("data-step") == step


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_leaving_before_the_log_in_says_that_the_window_was_closed(
    visit: Visit, link: Link, how: str
) -> None:
    popup = visit.open(link.slug).begin()
    popup.page.get_by_role("heading", name="Log in").wait_for()
    if how == "cancel":
        popup.cancel()
    else:
        popup.page.close()
    visit.sees("closed")


def test_an_error_of_the_platform_is_shown_as_text(visit: Visit, link: Link) -> None:
    popup = visit.open(link.slug).begin().log_in()
    said = "<b>This account</b> may not add numbers."
    popup.report("524126", said)
    assert f"{said} (code 524126)" in visit.sees("error")


def test_after_a_failure_the_same_page_starts_again(visit: Visit, link: Link) -> None:
    visit.open(link.slug).begin().log_in().cancel()
    visit.sees("cancelled")
    again = visit.begin()
    again.log_in().choose_business()
    again.page.close()
    visit.sees("closed")


def test_an_account_without_a_number_is_not_enough(visit: Visit, link: Link) -> None:
    popup = visit.open(link.slug).begin().log_in().choose_business()
    popup.choose_number("Continue without a number").allow().finish()
    visit.sees("no-number")


def test_a_window_that_the_browser_blocks_is_noticed(visit: Visit, link: Link) -> None:
    visit.page.add_init_script("window.open = () => null")
    visit.open(link.slug).page.locator("#start").click()
    visit.sees("blocked")


def test_an_sdk_that_does_not_load_is_noticed(
    browser: Browser, gateway: Gateway, link: Link
) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        visit = Visit(context, gateway.url)
        context.route("**/sdk.js", lambda route: route.abort())
        visit.page.goto(f"{gateway.url}/connect/{link.slug}")
        assert "127.0.0.1" in visit.sees("no-sdk")
        assert visit.page.locator("#start").is_hidden()
        context.unroute_all()
        visit.page.get_by_role("button", name="Load again").click()
        visit.page.locator("#start:enabled").wait_for()


def test_an_sdk_that_loads_and_never_starts_is_noticed(
    browser: Browser, gateway: Gateway, link: Link
) -> None:
    def stub(route: Route) -> None:
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(body="// nothing", content_type="text/javascript", headers=headers)

    with browser.new_context() as context:
        visit = Visit(context, gateway.url)
        visit.page.clock.install()
        context.route("**/sdk.js", stub)
        visit.page.goto(f"{gateway.url}/connect/{link.slug}")
        visit.page.clock.fast_forward(15_000)
        visit.sees("no-sdk")


def test_without_javascript_the_page_says_what_it_needs(
    browser: Browser, gateway: Gateway, link: Link
) -> None:
    with browser.new_context(
        viewport={"width": 390, "height": 844}, java_script_enabled=False
    ) as context:
        visit = Visit(context, gateway.url)
        visit.page.goto(f"{gateway.url}/connect/{link.slug}")
        assert "This page needs JavaScript" in visit.sees("invite")
        assert visit.page.get_by_role("button").count() == 0


def test_messages_of_other_origins_are_ignored(visit: Visit, link: Link) -> None:
    popup = visit.open(link.slug).begin()
    message = {"type": "WA_EMBEDDED_SIGNUP", "event": "CANCEL", "data": {"error_message": "Forged"}}
    for origin in (
        *("http://127.0.0.1:1", "https://127.0.0.1", "https://evilfacebook.com"),
        *("https://www.facebook.com", "null"),
    ):
        _tell(visit, json.dumps(message), origin)
        assert visit.page.locator(WAITING).is_visible(), origin
    _tell(visit, json.dumps(message), _site(visit))
    visit.sees("error")
    popup.page.close()


def test_production_trusts_only_the_platforms_origins(visit: Visit, link: Link) -> None:
    visit.open(link.slug)
    visit.page.evaluate(
        "Object.assign(document.getElementById('connect').dataset,"
        " {site: 'https://facebook.com', subdomains: 'yes'})"
    )
    believed = {
        "https://www.facebook.com": True,
        "https://web.facebook.com": True,
        "https://business.facebook.com": True,
        "https://facebook.com": True,
        "https://evilfacebook.com": False,
        "https://www.facebook.com.evil.example": False,
        "http://www.facebook.com": False,
        "https://www.facebook.com:8443": False,
        "null": False,
    }
    ask = "origins => Object.fromEntries(origins.map(origin => [origin, isPlatform(origin)]))"
    assert visit.page.evaluate(ask, list(believed)) == believed


def test_messages_that_are_no_signup_message_are_ignored(visit: Visit, link: Link) -> None:
    popup = visit.open(link.slug).begin()
    for data in ("cb=f12&code=x", "[]", "null", "{}", '{"type": 1}', "{"):
        _tell(visit, data, _site(visit))
        assert visit.page.locator(WAITING).is_visible(), data
    popup.page.close()


def test_an_incomplete_result_shows_that_something_is_missing(visit: Visit, link: Link) -> None:
    visit.page.clock.install()
    popup = visit.open(link.slug).begin()
    data = {"phone_number_id": "1", "waba_id": "2"}
    message = {"type": "WA_EMBEDDED_SIGNUP", "event": "FINISH", "version": "3", "data": data}
    _tell(visit, json.dumps(message), _site(visit))
    visit.page.clock.fast_forward(5_000)
    visit.sees("incomplete")
    popup.page.close()


def _site(visit: Visit) -> str:
    site: str = visit.page.evaluate("document.getElementById('connect').dataset.site")
    return site


def _tell(visit: Visit, data: str, origin: str) -> None:
    """Send the page a window message as if from ``origin``."""
    visit.page.evaluate(
        "([data, origin]) => dispatchEvent(new MessageEvent('message', {data, origin}))",
        [data, origin],
    )
