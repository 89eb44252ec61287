"""Events: at most once for each message and kind, and one for each transition of a number."""

from models.accounts.account import Account
from models.database import writing
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.messages.message import MessageStatus
from models.numbers.number import Number
from services.message_status import emit_message
from tests import factories
from tests.conftest import Clock
from webhooks.kinds import EventKind


def test_a_message_has_each_event_kind_at_most_once(account: Account, number: Number) -> None:
    factories.webhook(account)
    message = factories.outbound(number)
    with writing():
        emit_message(EventKind.MESSAGE_SENT, message)
        emit_message(EventKind.MESSAGE_SENT, message)
        emit_message(EventKind.MESSAGE_DELIVERED, message)
    kinds = ["message.sent", "message.delivered"]
    assert [event.kind for event in Event.select().order_by(Event.id)] == kinds
    assert [delivery.event_kind for delivery in Delivery.select().order_by(Delivery.id)] == kinds


def test_workers_that_emit_the_same_event_at_once_write_one(number: Number) -> None:
    message = factories.outbound(number)

    def emit() -> None:
        with writing():
            emit_message(EventKind.MESSAGE_READ, message)

    factories.at_once(*[emit] * 4)
    assert Event.select().count() == 1


def test_an_event_is_emitted_even_when_nobody_waits_for_it(number: Number) -> None:
    message = factories.outbound(number)
    with writing():
        emit_message(EventKind.MESSAGE_SENT, message)
    assert Event.select().count() == 1


def test_a_number_may_have_the_same_event_again(account: Account) -> None:
    factories.event(account, EventKind.NUMBER_DISCONNECTED)
    factories.event(account, EventKind.NUMBER_DISCONNECTED)
    assert Event.select().count() == 2


def test_a_payload_never_changes(number: Number, clock: Clock) -> None:
    message = factories.outbound(number)
    with writing():
        emit_message(EventKind.MESSAGE_SENT, message)
        payload = Event.get().payload
        message.advance(MessageStatus.READ, at=clock.advance(minutes=1))
        emit_message(EventKind.MESSAGE_SENT, message)
    assert [event.payload for event in Event.select()] == [payload]


def test_the_events_of_a_message_are_its_own_and_its_accounts(
    account: Account, number: Number
) -> None:
    message, other = factories.outbound(number), factories.outbound(number)
    with writing():
        emit_message(EventKind.MESSAGE_SENT, message)
        emit_message(EventKind.MESSAGE_SENT, other)
        emit_message(EventKind.MESSAGE_READ, message)
    kinds = [event.kind for event in Event.of_subject(account.id, message.id)]
    assert kinds == ["message.sent", "message.read"]
    assert Event.of_subject("acc_other", message.id) == []
