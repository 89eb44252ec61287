"""The pages of a signup link at phone and desktop width, light and dark, without findings of axe-core."""

from playwright.sync_api import Browser, expect

from contract_tests.connect.conftest import NewLink
from contract_tests.dashboard.looks import faults
from contract_tests.harness import Gateway


def test_the_invitation_has_no_fault_in_any_look(
    browser: Browser, gateway: Gateway, new_link: NewLink
) -> None:
    page = browser.new_page(base_url=gateway.url)
    page.goto(f"/connect/{new_link().slug}")
    expect(page.get_by_role("button", name="Connect with WhatsApp")).to_be_enabled()
    assert faults(page, "connect") == []
    page.close()


def test_a_refusal_has_no_fault_in_any_look(browser: Browser, gateway: Gateway) -> None:
    page = browser.new_page(base_url=gateway.url)
    page.goto("/connect/no-such-link")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert faults(page, "connect-refused") == []
    page.close()
