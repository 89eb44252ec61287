"""Notifications of the running service: set up in a browser, sent by the worker."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, Page, expect

from contract_tests.dashboard.conftest import SETTINGS, Enrol, mailing
from contract_tests.dashboard.looks import faults
from contract_tests.dashboard.person import signed_in
from contract_tests.harness import Gateway, Receiver, running, wait_for
from tests.mail_server import MailServer

ADA = "ada@example.com"
SUBJECT = "[Messaging Gateway] "


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    """The operator's mail server."""
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, mail: MailServer) -> Iterator[Gateway]:
    """A service that may send mail."""
    with running(tmp_path_factory.mktemp("gateway"), **SETTINGS, **mailing(mail)) as service:
        yield service


def _incident(page: Page, title: str) -> str:
    """The row of a banned number on the current page."""
    page.goto("/dashboard/notifications")
    return page.get_by_role("row", name=f"Number banned: {title}").inner_text()


def _confirm(browser: Browser, text: str) -> None:
    """Confirm the link in a mail, in another browser."""
    link = re.search(r"http://\S+/confirm/\S+", text)
    assert link is not None
    with closing(browser.new_page()) as stranger:
        stranger.goto(link[0])
        assert faults(stranger, "confirm-recipient") == []
        stranger.get_by_role("button", name="Confirm").click()
        expect(stranger.get_by_role("heading", level=1)).to_have_text("Confirmed")


def test_a_ban_and_its_end_are_notified_by_mail_and_chat(
    gateway: Gateway, enrol: Enrol, browser: Browser, page: Page, mail: MailServer
) -> None:
    customer = gateway.customer()
    person, chat = enrol(customer.account_id).signed_in(), Receiver()
    signed_in(page, person, "/dashboard/notifications")
    page.get_by_label("Email addresses, one per line").fill(ADA)
    page.get_by_label("Incoming webhook of Slack").fill(chat.url("/chat"))
    page.wait_for_load_state()
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.get_by_text("waiting for confirmation")).to_be_visible()
    assert faults(page, "notifications-waiting") == []
    # The other one is about the sign-in from a new browser.
    wait_for(lambda: {to for to, _ in mail.subjects} == {ADA, person.email}, "the link")
    [asking] = [each for each in mail.mails if each["To"] == ADA]
    mail.mails.clear()
    _confirm(browser, asking.get_content())
    page.goto("/dashboard/notifications")
    page.get_by_role("button", name="Send a test notification").press("Enter")
    expect(page.get_by_role("status").get_by_text("sent", exact=True)).to_have_count(2)
    assert mail.subjects == [(ADA, f"{SUBJECT}Test notification")]
    title = f"+{customer.number['phoneNumber']}"
    gateway.sandbox_call(f"numbers/{gateway.number_id_of(customer)}/status", status="BANNED")
    wait_for(lambda: len(mail.mails) == 2, "the mail")
    assert mail.subjects[0] == (ADA, f"{SUBJECT}Number banned: {title}")
    # The worker records a mail after the mail server has taken it.
    wait_for(lambda: ADA in _incident(page, title), "the record of the mail")
    assert faults(page, "notifications") == []
    gateway.sandbox_call(f"numbers/{gateway.number_id_of(customer)}/status", status="CONNECTED")
    wait_for(lambda: len(mail.mails) == 3, "the mail of its end")
    assert mail.subjects[1] == (ADA, f"{SUBJECT}Resolved: Number banned: {title}")
    chat.close()
