"""When the page of a message asks again by itself, the command that sends a first one, and finding."""

import re
import shlex
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from markupsafe import escape

from dashboard.first_message import first_message
from models.account import Account
from models.attempt import record_outcomes
from models.claim import Terms
from models.database import writing
from models.message import Message, MessageStatus
from models.number import Number
from tasks.emit import emit_message
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


def test_a_message_on_its_way_is_asked_for_again_until_it_was_read(
    number: Number, clock: Clock, shown: Shown
) -> None:
    message = factories.outbound(number)
    for status in (MessageStatus.SENT, MessageStatus.DELIVERED):
        assert "hx-get" in shown(message)
        _advance(message, status, clock)
    assert "hx-get" in shown(message)
    _advance(message, MessageStatus.READ, clock)
    assert "hx-get" not in shown(message)


def test_a_message_that_stays_on_its_way_is_not_asked_for_for_ever(
    number: Number, clock: Clock, shown: Shown
) -> None:
    message = factories.outbound(number)
    clock.advance(minutes=11)
    assert "hx-get" not in shown(message)


def test_an_old_message_is_asked_for_again_while_an_attempt_is_near(
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
    """The messages that the page lists for a text."""
    page = visit(f"messages?{urlencode({'find': text})}", status)
    assert f'name="find" value="{escape(text)}"' in page
    return re.findall(r'href="/dashboard/messages/(msg_\w+)"', page)


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


def test_a_person_without_a_phone_number_is_found_by_the_user_id(
    number: Number, visit: Visit
) -> None:
    message = factories.outbound(number, "US.13491208655302741918")
    assert _found(visit, "US.13491208655302741918") == [message.id]


def test_what_is_found_can_be_narrowed_down(number: Number, visit: Visit) -> None:
    message = factories.outbound(number)
    assert message.id in visit("messages?find=15551234567&status=pending")
    assert "No message matches." in visit("messages?find=15551234567&status=read")


def test_signs_that_no_database_takes_find_nothing(number: Number, visit: Visit) -> None:
    assert "No message matches." in visit(f"messages?find=%00%F0%9F&number_id={number.id}")
