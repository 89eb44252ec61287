"""The worker adds messages to the index of their words."""

import pytest

from models.accounts.account import Account
from models.messages.message import Message
from models.messages.search import SearchBlock, find
from models.numbers.number import Number
from tasks import indexing, retention
from tests import factories
from tests.conftest import Clock


def _found(account: Account) -> int:
    return len(find(account.id, ["red"], 100).rows)


def test_few_messages_are_indexed_within_an_hour(
    account: Account, number: Number, clock: Clock
) -> None:
    factories.outbound(number, text="red")
    clock.advance(minutes=59)
    indexing.work_off()
    assert SearchBlock.select().count() == 0
    assert _found(account) == 1
    clock.advance(minutes=2)
    indexing.work_off()
    assert SearchBlock.select().count() == 1
    assert _found(account) == 1


def test_many_messages_are_indexed_after_a_minute(
    account: Account, number: Number, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(70):
        factories.outbound(number, text="red")
    clock.advance(minutes=2)
    monkeypatch.setattr(indexing, "BATCH_SIZE", 70)
    indexing.work_off()
    assert SearchBlock.select().count() == 2
    assert _found(account) == 70


def test_retention_removes_from_the_index(account: Account, number: Number, clock: Clock) -> None:
    factories.outbound(number, text="red")
    Message.update(status="read").execute()
    clock.advance(hours=2)
    indexing.work_off()
    assert SearchBlock.select().count() == 1
    clock.advance(days=29)
    retention.remove_old()
    assert (SearchBlock.select().count(), _found(account)) == (1, 1)
    clock.advance(days=1)
    retention.remove_old()
    assert (SearchBlock.select().count(), _found(account)) == (0, 0)
