"""The page of a message: person, quoted message, refresh. The first message, and the search."""

import re
import shlex
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from markupsafe import escape

from dashboard.keys import first_message
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms
from models.messages.contact import Contact
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from networks.exceptions import ErrorDetails
from services.message_status import emit_message
from services.network_failures import failure_of
from tests import factories
from tests.conftest import Clock, Configure
from tests.dashboard.conftest import Visit
from tests.factories import claim_due
from webhooks.kinds import EventKind

Shown = Callable[[Message], str]


@pytest.fixture
def shown(visit: Visit) -> Shown:
    """The page of a message."""
    return lambda message: visit(f"messages/{message.id}")


def _advance(message: Message, status: MessageStatus, clock: Clock) -> None:
    with writing():
        message.advance(status, at=clock.advance())


def test_messages_of_a_broadcast_are_found_and_lead_to_it(visit: Visit, number: Number) -> None:
    broadcast = factories.started(number, "15551230001")
    theirs, other = (factories.outbound(number, to) for to in ("15551230001", "15551230002"))
    with writing():
        is_theirs = Message.id == theirs.id
        Message.update(broadcast_id=broadcast.id).where(is_theirs).execute()
    page = visit(f"messages?broadcast_id={broadcast.id}")
    assert f"/dashboard/messages/{theirs.id}" in page
    assert f"/dashboard/messages/{other.id}" not in page
    assert f'value="{broadcast.id}" selected' in page
    assert f"/dashboard/broadcasts/{broadcast.id}" in visit(f"messages/{theirs.id}")
    assert "/dashboard/broadcasts/" not in visit(f"messages/{other.id}").split("<main", 1)[1]
    rival = factories.active_number(Account.open("Rival", "pro"), "1009", "2009")
    visit(f"messages?broadcast_id={factories.started(rival, '15551230001').id}", 404)


def test_an_unfinished_message_page_refreshes_until_the_message_is_read(
    number: Number, clock: Clock, shown: Shown
) -> None:
    message = factories.outbound(number)
    for status in (MessageStatus.SENT, MessageStatus.DELIVERED):
        assert "hx-get" in shown(message)
        _advance(message, status, clock)
    assert "hx-get" in shown(message)
    _advance(message, MessageStatus.READ, clock)
    assert "hx-get" not in shown(message)


def test_an_unfinished_message_page_stops_refreshing_after_a_while(
    number: Number, clock: Clock, shown: Shown
) -> None:
    message = factories.outbound(number)
    clock.advance(minutes=11)
    assert "hx-get" not in shown(message)


def test_an_old_message_page_refreshes_while_an_attempt_is_near(
    account: Account, number: Number, clock: Clock, shown: Shown
) -> None:
    factories.webhook(account)
    message = factories.outbound(number)
    clock.advance(minutes=11)
    with writing():
        emit_message(EventKind.MESSAGE_SENT, message)
    assert "hx-get" in shown(message)
    record_outcomes(map(factories.failure, claim_due(100, Terms(100, 1000))), lambda _: 600.0, 1000)
    assert "hx-get" not in shown(message)
    clock.advance(minutes=10)
    assert "hx-get" in shown(message)


def _answer(number: Number, to: Message) -> Message:
    """The person replies to our message with the network identifier wamid.1."""
    with writing():
        to.advance(MessageStatus.SENT, at=1, wa_message_id="wamid.1")
        return Message.write_inbound(
            number,
            to.contact_id,
            wa_message_id="wamid.2",
            sender=to.to_number,
            type_="text",
            body={"body": "Yes"},
            at=2,
            quoted_wa_id="wamid.1",
        )


def test_a_message_leads_to_its_person(number: Number, shown: Shown) -> None:
    message = factories.outbound(number)
    [contact] = Contact.select()
    assert f'<a href="/dashboard/contacts/{contact.id}">+15551234567</a>' in shown(message)
    factories.contact(number, phone="15551234567", name="<b>Ana</b>")
    assert f'{contact.id}">&lt;b&gt;Ana&lt;/b&gt;</a>' in shown(message)


def test_a_message_leads_to_the_contact_that_its_person_was_merged_into(
    number: Number, shown: Shown
) -> None:
    mine = factories.contact(number, user_id="US.1")
    message = factories.outbound(number)
    merged = message.contact_id
    factories.contact(number, user_id="US.1", phone="15551234567")
    Message.update(contact_id=merged).execute()
    assert f'"/dashboard/contacts/{mine.id}"' in shown(message)


def test_a_message_that_is_older_than_contacts_has_no_link_to_one(
    number: Number, shown: Shown
) -> None:
    message = factories.outbound(number)
    Message.update(contact_id=None).execute()
    page = shown(message)
    assert "no contact is known" in page
    assert "/dashboard/contacts/" not in page


def test_a_user_id_is_shown_as_it_is(number: Number, shown: Shown, visit: Visit) -> None:
    message = factories.outbound(number, to="US.1")
    assert "Sent to US.1" in shown(message)
    for page in (shown(message), visit("messages")):
        assert ">US.1</" in page
        assert "+US.1" not in page


def test_a_reply_leads_to_the_message_that_it_replies_to(number: Number, shown: Shown) -> None:
    ours = factories.outbound(number)
    assert "Replies to" not in shown(ours)
    theirs = _answer(number, ours)
    assert f'<a href="/dashboard/messages/{ours.id}">your message</a>' in shown(theirs)
    to, text = theirs.from_number, {"body": "Fine"}
    with writing():
        person = Contact.of_recipient(number, to).id
        reply = Message.write_outbound(number, to, "text", text, contact_id=person, quoted=theirs)
    assert f'<a href="/dashboard/messages/{theirs.id}">their message</a>' in shown(reply)


def test_a_reply_to_an_unknown_message_shows_the_network_identifier(
    number: Number, shown: Shown
) -> None:
    message = factories.outbound(number)
    reply = _answer(number, message)
    Message.delete().where(Message.id == message.id).execute()
    assert re.search("<code>wamid.1</code>.* deleted</dd>", shown(reply))
    Message.update(quoted_id=None).execute()
    assert re.search("<code>wamid.1</code>.* not know</dd>", shown(reply))


def test_the_first_message_is_sent_from_a_number_that_can_send(
    account: Account, configure: Configure
) -> None:
    configure(PUBLIC_URL="http://gateway.example.com/a'b")
    factories.provision(account, "1001", phone_number="15550001111")
    assert first_message(account.id) is None
    active = factories.active_number(account, "1002", phone_number="15550002222")
    command = first_message(account.id, "mk_live_x")
    assert command is not None
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:2] == ["curl", "http://gateway.example.com/a'b/api/messages/send"]
    assert "Authorization: Bearer mk_live_x" in words
    assert active.id in words[-1]


def _found(visit: Visit, text: str, status: int = 200) -> list[str]:
    """The messages on the page of a search."""
    page = visit(f"messages?{urlencode({'find': text})}", status)
    assert f'name="find" value="{escape(text)}"' in page
    return re.findall(r'href="/dashboard/messages/(msg_\w+)"', page)


def test_a_message_page_shows_all_errors_and_the_words_of_the_network(
    number: Number, shown: Shown
) -> None:
    message = factories.outbound(number)
    details = ErrorDetails("<Title>", "Write later.", None, "A1", "LIMITED", 1_795_167_000_000)
    failure = failure_of([("131026", "Away"), ("999999", "Another")], [details])
    with writing():
        message.advance(MessageStatus.FAILED, at=1, error=failure)
    page = shown(message)
    for text in ("&lt;Title&gt;", "Write later.", "A1", "limited", "2026-11-20", "Another."):
        assert text in page, text


def test_one_field_finds_by_phone_identifiers_and_error_code(number: Number, visit: Visit) -> None:
    failed, read = factories.outbound(number, "15551234567"), factories.outbound(number, "34600")
    with writing():
        failed.advance(MessageStatus.FAILED, at=1, error=("131047", "Re-engagement"))
        read.advance(MessageStatus.READ, at=1, wa_message_id="wamid.READ=")
    for text in ("15551234567", "+1 (555) 123-4567", "131047", failed.id):
        assert _found(visit, text) == [failed.id], text
    for text in ("wamid.READ=", " wamid.READ= ", read.id):
        assert _found(visit, text.strip()) == [read.id], text
    for text in ("131049", "15551234568", "US.1349", "wamid.none", "msg_none", "%", "<b>'"):
        assert _found(visit, text) == [], text


def test_the_field_finds_by_reference_what_it_finds_by_nothing_else(
    number: Number, visit: Visit
) -> None:
    named = {each: factories.outbound(number, reference=each).id for each in ("131047", "<4711>")}
    for reference, message_id in named.items():
        assert _found(visit, reference) == [message_id]
    page = visit("messages?find=%3C4711%3E&status=read")
    assert "No message matches." in page
    failed = factories.outbound(number)
    with writing():
        failed.advance(MessageStatus.FAILED, at=1, error=("131047", "Re-engagement"))
    assert _found(visit, "131047") == [failed.id]


def test_a_message_shows_its_reference(number: Number, shown: Shown) -> None:
    assert "&lt;4711&gt;" in shown(factories.outbound(number, reference="<4711>"))


def test_a_person_without_a_phone_number_is_found_by_the_user_id(
    number: Number, visit: Visit
) -> None:
    message = factories.outbound(number, "US.13491208655302741918")
    assert _found(visit, "US.13491208655302741918") == [message.id]


def test_search_results_can_be_filtered(number: Number, visit: Visit) -> None:
    message = factories.outbound(number)
    assert message.id in visit("messages?find=15551234567&status=pending")
    assert "No message matches." in visit("messages?find=15551234567&status=read")


def test_characters_that_no_database_accepts_find_nothing(number: Number, visit: Visit) -> None:
    assert "No message matches." in visit(f"messages?find=%00%F0%9F&number_id={number.id}")
