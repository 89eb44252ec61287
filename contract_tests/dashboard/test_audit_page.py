"""An owner finds out who changed what: the page of the audit log, its filters and its file."""

import csv
import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from contract_tests.dashboard.conftest import Enrol
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import Person, signed_in
from contract_tests.dashboard.webhook_steps import follow, press, register
from contract_tests.harness import Customer, Gateway

OLD, NEW = "http://127.0.0.1:9/old", "http://127.0.0.1:9/new"


@pytest.fixture(scope="module")
def person(enrol: Enrol) -> Person:
    """An owner of the account."""
    return enrol().signed_in()


@pytest.fixture(scope="module")
def webhook_id(gateway: Gateway, owner: Customer, person: Person) -> str:
    """A webhook that a program created and sent elsewhere, and the owner disabled."""
    made = register(owner, f"{OLD}?token=a-secret-of-the-receiver")
    path = f"/webhooks/{made['id']}"
    assert owner.request("PATCH", path, json={"url": NEW}).status_code == 200
    page = f"/dashboard{path}"
    assert person.submit(f"{page}/off", page=page).status_code == 303
    gateway.cli("accounts", "set-plan", owner.account_id, "starter")
    gateway.cli("accounts", "set-plan", owner.account_id, "pro")
    return str(made["id"])


def _row(page: Page, action: str) -> Locator:
    return page.locator("tbody tr").filter(has_text=action)


def _actions(page: Page) -> Iterator[str]:
    for head in page.locator("tbody th").all():
        yield head.inner_text().splitlines()[0].strip()


def test_an_owner_sees_who_sent_a_webhook_elsewhere(
    page: Page, person: Person, webhook_id: str
) -> None:
    signed_in(page, person)
    page.get_by_role("navigation").get_by_role("link", name="Audit log").click()
    changed = _row(page, "Changed a webhook")
    expect(changed.locator("del")).to_have_text(f"{OLD}?****")
    expect(changed.locator("ins")).to_have_text(NEW)
    expect(changed).to_contain_text("API key")
    expect(changed).to_contain_text("127.0.0.1")
    expect(_row(page, "Changed the plan").first).to_contain_text("command line")
    expect(page.locator("main")).not_to_contain_text("a-secret-of-the-receiver")
    changed.get_by_role("link", name=webhook_id).click()
    page.wait_for_load_state()
    assert [*_actions(page)] == ["Disabled a webhook", "Changed a webhook", "Created a webhook"]
    page.get_by_role("combobox", name="By").select_option(person.email)
    press(page, "Filter")
    page.wait_for_load_state()
    assert [*_actions(page)] == ["Disabled a webhook"]
    assert faults(page, "audit-filtered") == []
    page.get_by_role("combobox", name="Action").select_option("Erased a contact")
    press(page, "Filter")
    expect(page.locator("main")).to_contain_text("Nothing matches.")
    follow(page, "Show all")
    expect(_row(page, "Created a webhook")).to_have_count(1)
    assert faults(page, "audit") == []


def test_the_file_has_the_rows_of_the_filter(page: Page, person: Person, webhook_id: str) -> None:
    query = urlencode({"subject": webhook_id, "action": "webhook.changed"})
    signed_in(page, person, f"/dashboard/audit?{query}")
    with page.expect_download() as started:
        follow(page, "Download as CSV")
    assert started.value.suggested_filename == "audit.csv"
    with started.value.path().open(newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["action"], row["subject"], row["actor"]) == ("webhook.changed", webhook_id, "key")
    assert re.fullmatch(r'\{"url": "http://127\.0\.0\.1:9/old\?\*{4}"\}', row["before"])


def test_other_roles_do_not_see_the_log(enrol: Enrol) -> None:
    developer = enrol(role="developer").signed_in()
    for path in ("/dashboard/audit", "/dashboard/audit.csv"):
        assert developer.get(path).status_code == 403
