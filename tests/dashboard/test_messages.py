"""When the page of a message asks again by itself, and the command that sends a first one."""

import shlex
from collections.abc import Callable

import pytest

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
