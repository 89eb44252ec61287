"""Steps that tests of the dashboard's webhook pages repeat."""

from typing import Any

from playwright.sync_api import Page

from contract_tests.harness import Customer

WEBHOOKS = "/dashboard/webhooks"
TO = "15551234567"


def register(owner: Customer, url: str, **values: Any) -> dict[str, Any]:
    """Create a webhook with the API."""
    body = {"url": url, "events": ["message.sent"], **values}
    made: dict[str, Any] = owner.request("POST", "/webhooks", json=body).json()
    return made


def stored(owner: Customer, webhook_id: str) -> dict[str, Any]:
    """The webhook from the API."""
    found: dict[str, Any] = owner.request("GET", f"/webhooks/{webhook_id}").json()
    return found


def count(owner: Customer) -> int:
    """The number of the account's webhooks."""
    total: int = owner.request("GET", "/webhooks").json()["pagination"]["total"]
    return total


def press(page: Page, name: str) -> None:
    """Press a button once the page is loaded."""
    # Until its scripts have loaded, a page works as it does without scripts.
    page.wait_for_load_state()
    page.get_by_role("button", name=name, exact=True).click()


def follow(page: Page, name: str) -> None:
    """Follow a link of the content once the page is loaded."""
    page.wait_for_load_state()
    page.get_by_role("main").get_by_role("link", name=name, exact=True).click()
