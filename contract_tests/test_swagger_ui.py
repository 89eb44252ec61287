"""Swagger UI in a real browser: it works, and it asks nobody but this machine."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

from contract_tests.chromium import FLAGS
from contract_tests.harness import Customer, Gateway


class Visit:
    """A page, and all that it asked for and complained about."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requested: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("pageerror", lambda error: self._hear("error", str(error)))
        page.on("requestfailed", lambda request: self._hear("error", request.url))

    def _hear(self, level: str, text: str) -> None:
        if level in {"error", "warning"}:
            self.complaints.append(f"{level}: {text}")

    def open(self, url: str) -> Self:
        """Load Swagger UI and wait until it has read the contract."""
        self.page.goto(f"{url}/api/ui/")
        self.page.locator(".opblock").first.wait_for()
        return self

    def authorize(self, key: str) -> None:
        """Enter a key in the dialog behind the button Authorize."""
        self.page.locator(".auth-wrapper").get_by_role("button", name="Authorize").click()
        dialog = self.page.locator(".dialog-ux")
        dialog.locator("input").fill(key)
        dialog.get_by_role("button", name="Apply credentials").click()
        dialog.get_by_role("button", name="Close").click()

    def execute(self, operation: str) -> tuple[str, str]:
        """Execute ``tag-operationId`` as it is filled in. Returns the shown status and body."""
        block = self.page.locator(f"#operations-{operation}")
        block.locator(".opblock-summary").click()
        block.get_by_role("button", name="Try it out").click()
        block.get_by_role("button", name="Execute").click()
        answer = block.locator(".live-responses-table .response")
        status = answer.locator(".response-col_status").inner_text()
        return status.strip(), answer.locator(".highlight-code").first.inner_text()


@pytest.fixture
def visit(tmp_path: Path) -> Iterator[Visit]:
    """A fresh Chromium, its user data thrown away."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch_persistent_context(
            tmp_path / "chromium",
            executable_path=shutil.which("chromium"),
            headless=True,
            args=FLAGS,
            viewport={"width": 1280, "height": 1000},
        )
        yield Visit(chromium.new_page())
        chromium.close()


def test_swagger_ui_reads_the_contract_and_asks_only_this_machine(
    visit: Visit, gateway: Gateway
) -> None:
    visit.open(gateway.url)
    assert visit.page.locator(".info .title").inner_text().startswith("Messaging Gateway")
    assert visit.page.locator(".opblock").count() > 15
    assert f"{gateway.api}/openapi.json" in visit.requested
    web = [url for url in visit.requested if urlsplit(url).scheme != "data"]
    assert {urlsplit(url).netloc for url in web} == {f"127.0.0.1:{gateway.port}"}
    assert visit.complaints == []


def test_swagger_ui_authorizes_with_a_key_and_lists_the_numbers(
    visit: Visit, gateway: Gateway, customer: Customer, tmp_path: Path
) -> None:
    visit.open(gateway.url)
    visit.authorize(customer.key)
    status, body = visit.execute("numbers-listNumbers")
    assert status == "200"
    assert customer.number["id"] in body
    visit.page.screenshot(path=tmp_path / "numbers.png", full_page=True)
    web = [url for url in visit.requested if urlsplit(url).scheme != "data"]
    assert {urlsplit(url).netloc for url in web} == {f"127.0.0.1:{gateway.port}"}
    assert visit.complaints == []


def test_swagger_ui_shows_the_error_of_a_request_without_a_key(
    visit: Visit, gateway: Gateway
) -> None:
    status, body = visit.open(gateway.url).execute("numbers-listNumbers")
    assert status == "401"
    assert "UNAUTHORIZED" in body
