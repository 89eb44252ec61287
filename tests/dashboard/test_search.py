"""The search: one field for every kind of resource of an account."""

from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from models.accounts.account import Account, ApiKey
from models.database import writing
from models.deliveries.attempt import Attempt, record_outcomes
from models.deliveries.claim import Terms
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from models.numbers.signup import SignupLink
from services import message_status
from tests import factories
from tests.dashboard.conftest import Visit
from webhooks.kinds import EventKind

NOTHING = "Nothing matches"


def _search(visit: Visit, text: str, more: str = "") -> str:
    return visit(f"search?q={quote(text)}{more}")


def _sent(number: Number, wa_message_id: str, text: str = "Hello") -> Message:
    """A message accepted by the network, and its event."""
    row = factories.outbound(number, text=text)
    with writing():
        row.advance(MessageStatus.SENT, at=1, wa_message_id=wa_message_id)
        message_status.emit_message(EventKind.MESSAGE_SENT, row)
    return row


def test_the_search_says_what_it_finds(visit: Visit) -> None:
    page = visit("search")
    assert "<code>msg_</code>" in page
    assert 'role="status"' not in page


def test_a_single_letter_is_too_short(visit: Visit) -> None:
    page = _search(visit, "a")
    assert 'role="status"><strong>a</strong>' in page
    assert "<code>msg_</code>" in page


def test_an_identifier_leads_to_its_page(
    visit: Visit, browser: FlaskClient, account: Account, number: Number
) -> None:
    message, webhook = factories.outbound(number), factories.webhook(account)
    [delivery] = factories.deliveries(account, webhook)
    record_outcomes(
        map(factories.success, factories.claim_due(1, Terms(1, 1000))), lambda _: None, 10
    )
    [attempt] = Attempt.of(delivery)
    key, link = ApiKey.issue(account, "test")[0], SignupLink.open(account, "acme")
    broadcast = factories.broadcast(number, "15551234567")
    pages = {
        broadcast.id: f"broadcasts/{broadcast.id}",
        message.id: f"messages/{message.id}",
        number.id: f"numbers/{number.id}",
        webhook.id: f"webhooks/{webhook.id}",
        delivery.id: f"deliveries/{delivery.id}",
        delivery.event_id: f"deliveries/{delivery.id}",
        attempt.id: f"deliveries/{delivery.id}#{attempt.id}",
        str(message.contact_id): f"contacts/{message.contact_id}",
        key.id: "keys",
        link.id: f"links/{link.id}",
    }
    visit("search")
    found = {given: browser.get(f"/dashboard/search?q=+{given}") for given in pages}
    assert {given: answer.headers.get("Location") for given, answer in found.items()} == {
        given: f"/dashboard/{page}" for given, page in pages.items()
    }


def test_an_event_of_several_webhooks_lists_its_deliveries(visit: Visit, account: Account) -> None:
    hooks = [factories.webhook(account, f"http://127.0.0.1:9/{n}") for n in range(2)]
    first, second = factories.deliveries(account, *hooks)
    page = _search(visit, first.event_id)
    assert f"/dashboard/deliveries/{first.id}" in page
    assert f"/dashboard/deliveries/{second.id}" in page


def test_an_event_without_deliveries_links_to_its_subject(
    visit: Visit, browser: FlaskClient, account: Account, number: Number
) -> None:
    event = factories.event(account, number_id=number.id)
    visit("search")
    answer = browser.get(f"/dashboard/search?q={event.id}")
    assert answer.headers["Location"] == f"/dashboard/numbers/{number.id}"


def test_the_networks_identifier_finds_the_message_and_its_deliveries(
    visit: Visit, account: Account, number: Number
) -> None:
    factories.webhook(account)
    row = _sent(number, "wamid.HBgL1")
    page = _search(visit, "wamid.HBgL1")
    assert f"/dashboard/messages/{row.id}" in page
    assert "/dashboard/deliveries/dlv_" in page


def test_a_reference_finds_its_messages(visit: Visit, number: Number) -> None:
    row = factories.outbound(number, reference="order 4711")
    factories.outbound(number, reference="order 4712")
    page = _search(visit, "order 4711")
    assert f"/dashboard/messages/{row.id}" in page
    assert page.count("/dashboard/messages/msg_") == 1


@pytest.mark.parametrize("typed", ["15551234567", "+1 (555) 123-4567", "1.555.123.45.67"])
def test_a_phone_number_finds_the_person_and_their_messages(
    visit: Visit, number: Number, typed: str
) -> None:
    row = factories.outbound(number)
    factories.outbound(number, to="15550009999")
    page = _search(visit, typed)
    assert f"/dashboard/contacts/{row.contact_id}" in page
    assert page.count("/dashboard/messages/msg_") == 1


@pytest.mark.parametrize("typed", ["US.4711", "@ada.l", "ada.l", "lovelace", "a Lov"])
def test_a_user_id_username_or_part_of_a_name_finds_the_person(
    visit: Visit, number: Number, typed: str
) -> None:
    ada = factories.contact(number, user_id="US.4711", username="ada.l", name="Ada Lovelace")
    factories.contact(number, user_id="US.4712", username="bob", name="Bob")
    page = _search(visit, typed)
    assert f"/dashboard/contacts/{ada.id}" in page
    assert page.count("/dashboard/contacts/ctc_") == 1


def test_a_person_of_two_numbers_is_shown_with_each(
    visit: Visit, account: Account, number: Number
) -> None:
    factories.contact(number, phone="15550009999", name="Ada")
    assert "with +" not in _search(visit, "Ada")
    other = factories.active_number(account, "1002", "2002", phone_number="15550002222")
    factories.contact(other, phone="15550009999", name="Ada")
    page = _search(visit, "Ada")
    for each in (number, other):
        assert page.count(f"with +{each.phone_number}") == 1


@pytest.mark.parametrize("typed", ["coffee", "CAFÉ", "cafe tomorr", "tomorrow, café!"])
def test_words_find_texts_and_are_marked(visit: Visit, number: Number, typed: str) -> None:
    row = factories.outbound(number, text="Café <b>tomorrow</b>? No coffee.")
    factories.outbound(number, text="Tomorrow")
    page = _search(visit, typed)
    assert page.count("/dashboard/messages/msg_") == 1
    assert f"/dashboard/messages/{row.id}" in page
    assert "<mark>" in page
    assert "<b>" not in page


def test_a_long_text_is_shown_around_the_word(visit: Visit, number: Number) -> None:
    factories.outbound(number, text=f"{'blah ' * 100}needle{' blah' * 100}")
    page = _search(visit, "needle")
    assert "…" in page
    assert "<mark>needle</mark>" in page


def test_numbers_and_webhooks_are_found(visit: Visit, account: Account, number: Number) -> None:
    webhook = factories.webhook(account, "http://127.0.0.1:9/orders-in")
    assert f"/dashboard/webhooks/{webhook.id}" in _search(visit, "orders-in")
    assert f"/dashboard/numbers/{number.id}" in _search(visit, "+1 555 000 1111")


def test_an_error_code_finds_the_messages_that_failed_with_it(visit: Visit, number: Number) -> None:
    row = factories.outbound(number)
    with writing():
        row.advance(MessageStatus.FAILED, at=1, error=("131026", "Undeliverable"))
    assert f"/dashboard/messages/{row.id}" in _search(visit, "131026")


def test_one_kind_may_be_chosen(visit: Visit, number: Number) -> None:
    factories.contact(number, phone="15550009999", name="Hello Kitty")
    factories.outbound(number, text="Hello")
    everything, people = _search(visit, "hello"), _search(visit, "hello", "&kind=people")
    assert "of-texts" in everything
    assert "of-people" in everything
    assert "of-texts" not in people
    assert "of-people" in people


def test_many_results_of_a_kind_link_to_the_next_ones(visit: Visit, number: Number) -> None:
    made = [factories.outbound(number, text=f"Order {each}").id for each in range(25)]
    page = _search(visit, "order")
    assert page.count("/dashboard/messages/msg_") == 20
    assert f"kind=texts&amp;before={made[5]}" in page
    rest = _search(visit, "order", f"&kind=texts&before={made[5]}")
    assert page.count("/dashboard/messages/msg_") + rest.count("/dashboard/messages/msg_") == 25


def test_nothing_of_another_account_is_found(visit: Visit) -> None:
    other = Account.open("Other", "pro")
    theirs = factories.active_number(other, "1002", "2002", phone_number="15550002222")
    row = _sent(theirs, "wamid.HBgL2", text="Secret plans")
    hook = factories.webhook(other, "http://127.0.0.1:9/theirs")
    [delivery] = factories.deliveries(other, hook)
    factories.contact(theirs, phone="15557654321", name="Their Friend")
    typed = [row.id, hook.id, delivery.id, delivery.event_id, theirs.id, str(row.contact_id)]
    typed += ["wamid.HBgL2", "secret plans", "15557654321", "friend", "15550002222", "theirs"]
    for each in typed:
        assert NOTHING in _search(visit, each)


def test_text_that_is_not_an_identifier_is_searched_for(visit: Visit) -> None:
    for typed in (
        "msg_1",
        "key_",
        "wh_%00",
        "evt_" + "0" * 300,
        "'\" OR *",
        "a AND b",
        "-- \\",
        "no\0 such",
    ):
        assert NOTHING in _search(visit, typed)
