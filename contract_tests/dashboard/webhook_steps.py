"""What tests of the dashboard's webhook pages do over and over."""

from typing import Any

from playwright.sync_api import Page

from contract_tests.harness import Customer

WEBHOOKS = "/dashboard/webhooks"
TO = "15551234567"


def register(owner: Customer, url: str, **values: Any) -> dict[str, Any]:
    """Make a webhook by the API."""
    body = {"url": url, "events": ["message.sent"], **values}
    made: dict[str, Any] = owner.request("POST", "/webhooks", json=body).json()
    return made


def stored(owner: Customer, webhook_id: str) -> dict[str, Any]:
    """The webhook as the API has it."""
    found: dict[str, Any] = owner.request("GET", f"/webhooks/{webhook_id}").json()
    return found


def count(owner: Customer) -> int:
    """How many webhooks the account has."""
    total: int = owner.request("GET", "/webhooks").json()["pagination"]["total"]
    return total


def press(page: Page, name: str) -> None:
    """Press a button, once the page is loaded."""
    # Before its scripts are there, a page does everything as it would without any.
    page.wait_for_load_state()
    page.get_by_role("button", name=name, exact=True).click()


def follow(page: Page, name: str) -> None:
    """Follow a link of the content, once the page is loaded."""
    page.wait_for_load_state()
    page.get_by_role("main").get_by_role("link", name=name, exact=True).click()
