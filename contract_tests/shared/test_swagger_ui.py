"""The pages that show the contract in a real browser: Swagger UI at /api/ui/, Redoc at /api/docs/."""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
import requests
from playwright.sync_api import Browser, Locator, Page, expect

from contract_tests.chromium import Witness
from contract_tests.dashboard.looks import AXE
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway

PAGES = ["/api/ui/", "/api/docs/"]
OPENED = {"/api/ui/": "#/messages/sendMessage", "/api/docs/": "#operation/sendMessage"}
PHONE = 390
# The width and the color scheme. The colors are the same at both widths.
LOOKS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((PHONE, "light"), (1440, "dark"))
PATIENCE_MS = 90_000
# Minor findings are the libraries' own: the order of headings, and content outside of landmarks.
# Of Redoc's operations the richest one, because axe takes 6 s for all of them.
RUN = """async () => (await axe.run(
    {exclude: "[data-section-id*='/operation/']:not([data-section-id$='/sendMessage'])"},
    {resultTypes: ["violations"], preload: false},
  )).violations.filter(found => ["serious", "critical"].includes(found.impact))
  .map(found => `${found.id}: ${found.nodes.map(node => node.target).join(" | ")}`)"""
# The heading has the color of the scheme once the library has drawn with it.
DRAWN = """() => document.querySelector("h1") && new Set(
  ["h1", "body"].map(name => getComputedStyle(document.querySelector(name)).color)).size === 1"""
STORED = """async () => [
  {...localStorage}, {...sessionStorage}, document.cookie, await indexedDB.databases()]"""


@pytest.fixture
def page(browser: Browser, gateway: Gateway) -> Iterator[Page]:
    """A separate browser. At the end there must be no browser error and no request to another host."""
    context = browser.new_context(base_url=gateway.url, reduced_motion="reduce")
    context.add_init_script(path=AXE)
    page = context.new_page()
    # Redoc takes seconds for the whole contract, and longer on a busy machine.
    page.set_default_timeout(PATIENCE_MS)
    witness = Witness(page)
    yield page
    context.close()
    # A violated policy is an error too. Requests inside the page have no host.
    assert witness.complaints == []
    assert witness.hosts - {""} == {gateway.url.removeprefix("http://")}


def opened(page: Page, path: str) -> Locator:
    """Show sendMessage on the page. Returns the list of its examples."""
    page.goto(path + OPENED[path])
    if path == "/api/ui/":
        return page.locator(
            ".opblock.is-open .opblock-section-request-body .examples-select-element"
        )
    return page.locator("[id='tag/messages/operation/sendMessage']").get_by_label("Example")


def faults(page: Page) -> list[Any]:
    """Findings of axe, and the pixels by which the page scrolls sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [*page.evaluate(RUN), *([wide] if wide > 0 else [])]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_contract_has_no_fault_in_any_look(page: Page, path: str) -> None:
    opened(page, path).first.wait_for()
    found = []
    # Redoc reloads the page for each change of the scheme.
    for width, scheme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(DRAWN)
        found += [(width, scheme, fault) for fault in faults(page)]
    assert found == []


def types_of_a_message(contract: dict[str, Any]) -> set[str]:
    """The values of ``type`` in a request to send."""
    body = contract["paths"]["/messages/send"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = contract["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return set(schema["discriminator"]["mapping"])


def test_swagger_ui_has_an_example_of_each_type_of_message(page: Page, gateway: Gateway) -> None:
    choice = opened(page, "/api/ui/")
    shown = page.locator(".opblock.is-open").get_by_label("Request body")
    # The page fills the list once it has resolved the operation.
    choice.locator("option").first.wait_for(state="attached")
    types = set()
    for name in choice.locator("option").evaluate_all("options => options.map(o => o.value)"):
        choice.select_option(name)
        types.add(json.loads(shown.input_value())["type"])
    contract = requests.get(f"{gateway.api}/openapi.json", timeout=WAIT_SECONDS).json()
    assert types == types_of_a_message(contract)


def authorize(page: Page, key: str) -> None:
    """Enter a key in the dialog of the button Authorize."""
    page.locator(".auth-wrapper").get_by_role("button", name="Authorize").click()
    dialog = page.locator(".dialog-ux")
    dialog.locator("input").fill(key)
    assert faults(page) == []
    dialog.get_by_role("button", name="Authorize").click()
    dialog.get_by_role("button", name="Close").click()


def execute(page: Page, operation: str) -> Locator:
    """Execute ``tag-operationId`` with its current values. Returns the response."""
    block = page.locator(f"#operations-{operation}")
    block.locator(".opblock-summary-control").click()
    block.get_by_role("button", name="Execute").click()
    return block.locator(".live-responses-table .response")


def test_swagger_ui_uses_a_key_without_storing_it(page: Page, customer: Customer) -> None:
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.goto("/api/ui/")
    authorize(page, customer.key)
    for operation in ("numbers-listNumbers", "messages-listMessages"):
        response = execute(page, operation)
        expect(response.locator(".response-col_status")).to_have_text("200")
    expect(page.locator("#operations-numbers-listNumbers .live-responses-table")).to_contain_text(
        customer.number["id"]
    )
    assert faults(page) == []
    assert page.evaluate(STORED) == [{}, {}, "", []]
    assert page.context.cookies() == []


def test_redoc_finds_an_operation_and_shows_an_example_of_each_type(page: Page) -> None:
    choice = opened(page, "/api/docs/")
    expect(choice.locator("option").filter(has_text=re.compile("^A template$"))).to_have_count(1)
    page.get_by_placeholder("Search").fill("rotate")
    expect(page.get_by_role("search").get_by_text("Rotate the signing secret")).to_be_visible()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_contract_cannot_be_framed(
    browser: Browser, gateway: Gateway, path: str
) -> None:
    page = browser.new_page()
    with page.expect_event("requestfailed") as failed:
        page.set_content(f'<iframe src="{gateway.url}{path}"></iframe>')
    assert failed.value.failure == "net::ERR_BLOCKED_BY_RESPONSE"
    page.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_contract_allows_no_other_script(gateway: Gateway, path: str) -> None:
    headers = requests.get(gateway.url + path, timeout=WAIT_SECONDS).headers
    policy = headers["Content-Security-Policy"]
    assert not {"unsafe-inline", "unsafe-eval", "*", "http"} & set(policy.replace("'", " ").split())
    assert {
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "connect-src 'self'",
    } <= {directive.strip() for directive in policy.split(";")}
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_contract_is_found_without_its_last_slash(
    gateway: Gateway, path: str
) -> None:
    answer = requests.head(gateway.url + path[:-1], timeout=WAIT_SECONDS, allow_redirects=True)
    assert (answer.status_code, answer.url) == (200, gateway.url + path)


@pytest.mark.parametrize("path", PAGES)
def test_paths_below_a_page_of_the_contract_are_not_found(gateway: Gateway, path: str) -> None:
    answer = requests.get(f"{gateway.url}{path}index.html", timeout=WAIT_SECONDS)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
