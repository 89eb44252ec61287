"""From a link to a number that sends, in a browser."""

import contextlib

import pytest
from playwright.sync_api import Error

from contract_tests.connect.conftest import NewLink
from contract_tests.connect.visitor import Visit
from contract_tests.harness import Customer, Gateway, Receiver, wait_for


def _subscribe(owner: Customer, receiver: Receiver) -> None:
    body = {"url": receiver.url(), "events": ["number.activated"]}
    assert owner.request("POST", "/webhooks", json=body).status_code == 201


def test_a_number_is_connected_by_clicking_through_and_announced_once(
    visit: Visit, new_link: NewLink, receiver: Receiver
) -> None:
    link = new_link()
    _subscribe(link.owner, receiver)
    visit.open(link.slug)
    assert "Acme" in visit.sees("invite")
    popup = visit.begin()
    visit.sees("waiting")
    popup.up_to_finish("+1 555 300 1001").finish()
    text = visit.sees("connected")
    assert "+15553001001" in text
    assert "Ana's bakery" in text
    assert link.numbers() == [("15553001001", "ACTIVE")]
    [event] = receiver.wait_kind("number.activated")
    assert event.event["data"]["phoneNumber"] == "15553001001"
    # A duplicate would have arrived before the event of this message.
    body = {
        "number_id": event.event["data"]["id"],
        "to": "15551234567",
        "type": "text",
        "text": {"body": "x"},
    }
    assert link.owner.request("POST", "/messages/send", json=body).status_code == 200
    assert len(receiver.at()) == 1


def test_a_number_of_the_whatsapp_business_app_is_connected_and_brings_its_history(
    visit: Visit, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin().log_in().choose_business()
    popup = popup.choose_number("Use a number of the WhatsApp Business app")
    popup.enter_number("15553001077").verify().allow().finish()
    assert "+15553001077" in visit.sees("connected")
    assert link.numbers() == [("15553001077", "ACTIVE")]

    def origins() -> set[str | None]:
        found = link.owner.request("GET", "/messages").json()["data"]
        return {each["origin"] for each in found}

    wait_for(lambda: "HISTORY" in origins(), "the history")


def test_the_message_and_the_code_may_come_in_the_other_order(
    visit: Visit, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin()
    popup.up_to_finish("15553001002").finish(callback_first=True)
    visit.sees("connected")
    assert link.numbers() == [("15553001002", "ACTIVE")]


def test_closing_the_window_on_its_last_screen_counts_as_finishing(
    visit: Visit, new_link: NewLink
) -> None:
    link = new_link()
    popup = visit.open(link.slug).begin()
    popup.up_to_finish("15553001003").page.close(run_before_unload=True)
    visit.sees("connected")
    assert link.numbers() == [("15553001003", "ACTIVE")]


def test_everything_can_be_done_with_the_keyboard(visit: Visit, new_link: NewLink) -> None:
    link = new_link()
    visit.open(link.slug)
    visit.page.keyboard.press("Tab")
    with visit.page.expect_popup() as opened:
        visit.page.keyboard.press("Enter")
    window = opened.value
    window.get_by_role("heading", name="Log in to continue").wait_for()
    for title in ("Choose a business", "Choose a phone", "Add your phone", "Enter the code"):
        window.keyboard.press("Enter")
        window.get_by_role("heading", name=title).wait_for()
    window.keyboard.type("123456")
    for title in ("Review the access", "Your account is connected"):
        window.keyboard.press("Enter")
        window.get_by_role("heading", name=title).wait_for()
    window.keyboard.press("Tab")
    # The key closes the window while it is pressed.
    with contextlib.suppress(Error):
        window.keyboard.press("Enter")
    visit.sees("connected")
    assert [status for _, status in link.numbers()] == ["ACTIVE"]


def test_names_are_shown_as_text_and_never_as_markup(visit: Visit, gateway: Gateway) -> None:
    evil = '<img src=x onerror=alert(1)> & "Söhne"'
    account = gateway.cli("accounts", "create", evil, "--plan", "pro")
    gateway.cli("signup-links", "create", account["id"], "--slug", "evil", "--exact", "--yes")
    visit.open("evil")
    assert evil in visit.sees("invite")
    visit.begin().up_to_finish("15553001004", evil).finish()
    assert visit.sees("connected").count(evil) == 2
    assert visit.page.get_by_role("main").locator("img").count() == 0


@pytest.mark.parametrize("reason", ["used", "revoked"])
def test_a_closed_link_shows_the_reason(
    visit: Visit, new_link: NewLink, gateway: Gateway, reason: str
) -> None:
    link = new_link()
    if reason == "used":
        visit.open(link.slug).begin().up_to_finish("15553001005").finish()
        visit.sees("connected")
    else:
        gateway.cli("signup-links", "revoke", link.id)
    answer = visit.page.goto(f"{gateway.url}/connect/{link.slug}")
    assert answer is not None
    assert answer.status == 410
    visit.sees(reason)
