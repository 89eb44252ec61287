"""Each operation of the growth benchmark succeeds: it is timed only where it does its work."""

import pytest

from benchmarks import growth
from benchmarks.growth_operations import accepting_network
from benchmarks.populate import Owner, populate
from contract_tests.stored import Stored
from gateway.settings import get_settings
from models.deliveries.delivery import Delivery, DeliveryState
from models.messages.message import Message, MessageStatus

# Enough for a page of deliveries that begins at growth_operations.DEEP.
MESSAGES = 400


@pytest.fixture
def owner(state: Stored) -> Owner:
    """The account with the most messages."""
    assert state.environment
    return populate(MESSAGES)[0]


def test_every_operation_succeeds(owner: Owner) -> None:
    stock = growth.stock_of(MESSAGES, get_settings().database_url, owner)
    before = Delivery.select().where(Delivery.state == DeliveryState.DELIVERED).count()
    with accepting_network():
        took = {name: operation() for name, operation in stock.operations.items()}
    assert all(ms > 0 for ms in took.values()), took
    sent = Message.select().where(
        Message.wa_message_id.startswith(f"wamid.{owner.numbers[0].phone_number_id}.")
    )
    assert [message.status for message in sent.order_by(Message.id)] == [
        MessageStatus.SENT,
        MessageStatus.DELIVERED,
    ]
    assert Delivery.select().where(Delivery.due).count() == 0
    # Two claims, and the events of the send and of the status.
    after = Delivery.select().where(Delivery.state == DeliveryState.DELIVERED).count()
    assert after - before == 2 * 20 + 3
