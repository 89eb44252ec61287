"""The API request log in a browser: from a failed request to its solution."""

import re

import pytest
from playwright.sync_api import Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.dashboard.webhook_steps import press
from contract_tests.dashboard.world import REFUSED, logged
from contract_tests.harness import Customer, Gateway

REQUESTS = "/dashboard/requests"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """A user of the owner's account, signed in."""
    return enrol().signed_in()


def test_a_refused_send_is_found_and_leads_to_its_message(
    page: Page, gateway: Gateway, person: Person, owner: Customer
) -> None:
    refused = owner.send(REFUSED, "A secret text")
    message_id = refused.json()["error"]["details"]["messageId"]
    logged(gateway, owner, 400)
    signed_in(page, person, REQUESTS)
    page.get_by_label("Status").select_option("Failed")
    page.get_by_label("Operation").select_option("POST /api/messages/send")
    press(page, "Filter")
    expect(page).to_have_url(re.compile("outcome=failed"))
    page.get_by_role("row").nth(1).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("POST /api/messages/send")
    expect(page.get_by_role("main")).to_contain_text("VALIDATION_ERROR")
    expect(page.get_by_role("main")).to_contain_text(refused.headers["X-Request-Id"])
    expect(page.get_by_role("main")).to_contain_text("does not use WhatsApp")
    expect(page.get_by_role("main")).not_to_contain_text("A secret text")
    reference = page.get_by_role("link", name="See POST /api/messages/send in the API reference")
    expect(reference).to_have_attribute("href", "/api/docs/#operation/sendMessage")
    page.get_by_role("link", name=message_id).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("failed")


def test_no_text_and_no_secret_is_in_the_log(
    gateway: Gateway, person: Person, owner: Customer
) -> None:
    secret = "do-not-keep-me"
    owner.send("15551234567", secret)
    owner.request("POST", "/messages/send", json={"text": {"body": {"a": secret}}, "type": "text"})
    owner.request("GET", f"/contacts?name={secret}")
    owner.request("GET", f"/messages?limit=0&errorText={secret}")
    logged(gateway, owner)
    rows = gateway.stored.rows("SELECT * FROM api_request")
    assert len(rows) >= 1
    assert secret not in repr(rows)
    assert owner.key not in repr(rows)
    assert secret not in person.get(REQUESTS).text
