"""The sandbox's controls in a browser: clock, numbers, templates and behaviour."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from contract_tests.chromium import Witness
from contract_tests.dashboard.looks import faults
from contract_tests.harness import WAIT_SECONDS, Customer, Gateway, wait_for


@pytest.fixture
def controls(page: Page, gateway: Gateway) -> Iterator[Page]:
    """The page. At the end there must be no browser error and no request to another host."""
    witness = Witness(page)
    page.goto(f"{gateway.sandbox}/controls")
    page.wait_for_load_state("networkidle")
    yield page
    assert witness.hosts == {f"127.0.0.1:{gateway.sandbox_port}"}
    assert witness.complaints == []


def _state(gateway: Gateway, path: str) -> Any:
    return requests.get(f"{gateway.sandbox}/_sandbox/{path}", timeout=WAIT_SECONDS).json()


def _done(page: Page) -> None:
    expect(page.get_by_role("status")).to_have_text("Done.")


@pytest.mark.usefixtures("customer")
def test_the_controls_have_no_fault_in_any_look(controls: Page) -> None:
    expect(controls.get_by_role("heading", level=1)).to_have_text("Sandbox controls")
    assert faults(controls, "sandbox-controls") == []


def test_a_number_is_banned_and_reinstated(controls: Page, customer: Customer) -> None:
    controls.reload()
    digits, number_id = customer.number["phoneNumber"], customer.number["id"]
    for status, ours in (("BANNED", "BANNED"), ("CONNECTED", "ACTIVE")):
        controls.get_by_label(f"+{digits}").select_option(status)
        controls.get_by_role("button", name=f"Set the status of +{digits}").press("Enter")
        _done(controls)

        def is_known(ours: str = ours) -> bool:
            found = customer.request("GET", f"/numbers/{number_id}").json()
            return bool(found["status"] == ours)

        wait_for(is_known, f"the number {ours}")
        expect(controls.get_by_label(f"+{digits}")).to_have_value(status)


def test_the_limits_of_a_number_are_changed(
    controls: Page, gateway: Gateway, customer: Customer
) -> None:
    controls.reload()
    number_id = gateway.number_id_of(customer)
    form = controls.locator(f"form[data-path='numbers/{number_id}/limits']")

    def has(rate: int | None) -> bool:
        [number] = [n for n in _state(gateway, "state")["numbers"] if n["id"] == number_id]
        found = (number["messaging_limit"], number["throughput_per_second"])
        return bool(found == ("TIER_10K", rate))

    for typed, rate in (("80", 80), ("", None)):
        form.get_by_label("Messaging limit").select_option("TIER_10K")
        form.get_by_label("Messages a second").fill(typed)
        form.get_by_role("button").click()
        wait_for(partial(has, rate), f"the limit {rate}")
        _done(controls)
        expect(form.get_by_label("Messages a second")).to_have_value(typed)


def test_settings_are_changed_and_reset(controls: Page, gateway: Gateway) -> None:
    controls.get_by_label("Error rate", exact=True).fill("0.5")
    controls.get_by_label("reorder").check()
    controls.locator("[name=template_review]").first.select_option("reject")
    controls.get_by_role("button", name="Save behaviour").click()
    _done(controls)
    turned = _state(gateway, "behaviour")
    assert (turned["error_rate"], turned["reorder"]) == (0.5, True)
    assert turned["template_review"] == "reject"
    assert turned["seed"] is None
    controls.get_by_role("button", name="Back to the defaults").click()
    expect(controls.get_by_label("Error rate", exact=True)).to_have_value("0")
    assert _state(gateway, "behaviour")["reorder"] is False


def test_the_clock_moves_ahead(controls: Page, gateway: Gateway) -> None:
    before = _state(gateway, "clock")["ahead_seconds"]
    controls.get_by_role("button", name="1 hour ahead").click()
    _done(controls)
    assert _state(gateway, "clock")["ahead_seconds"] == before + 3600
    expect(controls.locator("main")).to_contain_text(re.compile(r"\d+ s ahead"))


def test_a_template_is_rejected(controls: Page, gateway: Gateway, customer: Customer) -> None:
    path = f"/numbers/{customer.number['id']}/templates"
    body = {"type": "BODY", "text": "Hello"}
    made = {"name": "hello", "language": "en_US", "category": "UTILITY", "components": [body]}
    assert customer.request("POST", path, json=made).ok
    wait_for(lambda: _state(gateway, "templates")["data"], "the template")
    controls.reload()
    controls.get_by_label("hello (en_US)").last.select_option("REJECTED")
    controls.get_by_role("button", name="Set the template hello (en_US)").last.click()
    _done(controls)
    assert _state(gateway, "templates")["data"][-1]["status"] == "REJECTED"


# Without the fixture, because the browser logs the status as an error.
def test_an_invalid_setting_shows_an_error(page: Page, gateway: Gateway) -> None:
    page.goto(f"{gateway.sandbox}/controls")
    page.wait_for_load_state("networkidle")
    page.get_by_label("Error rate", exact=True).fill("7")
    page.get_by_role("button", name="Save behaviour").click()
    expect(page.get_by_role("status")).to_contain_text("error_rate ")
