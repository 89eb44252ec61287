"""A new user with only the dashboard: sign-in, first message, a receiver that breaks, and its repair."""

import os
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from contract_tests.connect.visitor import Visit
from contract_tests.dashboard.conftest import Enrol
from contract_tests.harness import WAIT_SECONDS, Gateway, Receiver

PHONE, SLUG = "15557654321", "strangers-bakery"


def _press(page: Page, name: str) -> None:
    """Press a button or follow a link once the page is loaded."""
    page.wait_for_load_state()
    page.get_by_role("button", name=name, exact=True).or_(
        page.get_by_role("link", name=name, exact=True)
    ).first.click()


def _go(page: Page, section: str) -> None:
    page.wait_for_load_state()
    page.get_by_role("navigation", name="Pages", exact=True).get_by_role(
        "link", name=section, exact=True
    ).click()
    expect(page.get_by_role("heading", level=1, name=section)).to_be_visible()


def _paste(command: str, key: str, folder: Path) -> None:
    """Paste the page's command into a shell that has the key."""
    done = subprocess.run(
        ["bash", "-c", command],
        env={"PATH": os.environ["PATH"], "GATEWAY_KEY": key},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert '"status":"sent"' in done.stdout, done.stderr


def _connect(browser: Browser, gateway: Gateway, address: str) -> None:
    """The number's owner opens the link on a phone and completes the platform's pages."""
    assert address.startswith(f"{gateway.url}/connect/{SLUG}-")
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True)
    visit = Visit(context, gateway.url).open(address.rpartition("/")[2])
    visit.begin().up_to_finish(PHONE).finish()
    visit.sees("connected")
    context.close()


def _create_key(page: Page) -> str:
    _go(page, "API keys")
    page.get_by_label("Name of the new key").fill("First steps")
    _press(page, "Create key")
    return page.locator("#key").inner_text()


def _create_link(page: Page) -> str:
    _go(page, "Signup links")
    page.get_by_label("Link name").fill(SLUG)
    _press(page, "Create link")
    return page.locator("#url").inner_text()


def _create_webhook(page: Page, url: str) -> str:
    _go(page, "Webhooks")
    page.wait_for_load_state()
    page.goto("/dashboard/webhooks/new")
    page.get_by_label("Address").fill(url)
    page.get_by_label("message.sent").check()
    _press(page, "Create webhook")
    expect(page.locator("#secret")).to_contain_text("whsec_")
    return page.locator("#secret").inner_text()


def _send(page: Page, key: str, command: str, folder: Path) -> None:
    """Paste the command, and open the resulting message."""
    _paste(command, key, folder)
    _go(page, "Messages")
    page.wait_for_load_state()
    page.get_by_role("row", name="15551234567").first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sent to +15551234567")


def _open_delivery(page: Page, url: str) -> None:
    page.wait_for_load_state()
    page.get_by_role("link", name=url).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("message.sent")


def test_a_new_user_gets_from_the_sign_in_to_a_fixed_receiver(
    page: Page,
    browser: Browser,
    gateway: Gateway,
    enrol: Enrol,
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    person = enrol(gateway.customer(with_number=False).account_id)
    page.goto("/dashboard/")
    page.get_by_label("Email").fill(person.email)
    page.get_by_label("Password").fill(person.password)
    _press(page, "Sign in")
    key = _create_key(page)
    _connect(browser, gateway, _create_link(page))
    _go(page, "Numbers")
    expect(page.get_by_role("row", name=PHONE)).to_contain_text("active")
    secret = _create_webhook(page, receiver.url())

    # The first message arrives.
    _go(page, "Messages")
    command = page.locator("pre").filter(has_text="curl").inner_text()
    _send(page, key, command, tmp_path)
    receiver.wait_kind("message.sent")
    _open_delivery(page, receiver.url())
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("delivered")
    expect(page.get_by_role("listitem").filter(has_text="Attempt 1")).to_contain_text("200")

    # The receiver breaks, and the page says why.
    receiver.status = 500
    _send(page, key, command, tmp_path)
    _open_delivery(page, receiver.url())
    expect(heading).to_contain_text("failed")
    expect(page.locator("#why")).to_contain_text("The receiver returned 500.")
    expect(page.get_by_role("listitem").filter(has_text="Attempt 4")).to_be_visible()

    # Once it is fixed, all missed events are redelivered.
    receiver.status = 200
    _go(page, "Deliveries")
    page.get_by_role("link", name="Missed deliveries").click()
    page.get_by_role("link", name="Redeliver all that match…").click()
    expect(page.get_by_role("heading", name="Redeliver 1 delivery?")).to_be_visible()
    _press(page, "Redeliver")
    receiver.wait_kind("message.sent", count=6)
    _go(page, "Deliveries")
    rows = page.get_by_role("row", name="message.sent")
    expect(rows).to_have_count(2)
    page.wait_for_load_state()
    rows.first.get_by_role("rowheader").get_by_role("link").click()
    expect(heading).to_contain_text("delivered")
    expect(page.get_by_role("listitem").filter(has_text="Attempt 5")).to_contain_text("200")

    # The log contains no secrets and no message texts.
    cookies = [str(cookie.get("value")) for cookie in page.context.cookies()]
    log = gateway.log()
    assert '"path":"/dashboard/webhooks"' in log.replace(" ", "")
    for hidden in (key, secret, person.password, person.email, PHONE, SLUG, "Hello", *cookies):
        assert hidden
        assert hidden not in log
