"""The people whom a number's messaging limit counts."""

import pytest

from models.database import writing
from models.messages import reach
from models.messages.contact import Contact
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def _send(number: Number, to: str, type_: str = "template") -> Message:
    with writing():
        contact_id = Contact.of_recipient(number, to).id
        return Message.write_outbound(number, to, type_, {}, contact_id=contact_id)


def _count(number: Number) -> int:
    with writing():
        return reach.count(number.id)


def test_people_count_once_by_their_templates(number: Number) -> None:
    for to, type_ in (("15551", "template"), ("15551", "template"), ("15552", "text")):
        _send(number, to, type_)
    assert _count(number) == 1
    refused = _send(number, "15553")
    assert _count(number) == 2
    with writing():
        refused.advance(MessageStatus.FAILED, at=refused.created_at)
    assert _count(number) == 1


def test_a_person_counts_until_the_network_surely_no_longer_counts_them(
    number: Number, clock: Clock
) -> None:
    sent = _send(number, "15551")
    # The network may have accepted it half a minute after it was stored.
    clock.advance(hours=24, seconds=20)
    assert _count(number) == 1
    with writing():
        free_at = reach.free_at(number.id, 0)
    clock.advance(seconds=(free_at - sent.created_at) / 1000 - 24 * 3600 - 20 + 0.001)
    assert _count(number) == 0
