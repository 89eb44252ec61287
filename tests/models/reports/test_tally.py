"""Tallies: totals that stay correct after every change of the rows."""

import random
from collections import Counter
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import reading, writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter
from models.deliveries.webhook import Webhook
from models.messages.message import Message, MessageStatus
from models.messages.message_filter import MessageFilter
from models.numbers.number import Number
from models.reports import tally
from models.reports.tally import HOUR_MS, DeliveryTally, MessageHour, MessageTally
from tasks.retention import KINDS
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due


def _tallied(table: type[MessageTally | MessageHour | DeliveryTally]) -> dict[tuple[Any, ...], int]:
    """The sums over the shards that are not 0."""
    sums = Counter[tuple[Any, ...]]()
    with reading():
        rows: Any = table.select().tuples()
        for *kind, _shard, total in rows:
            sums[tuple(kind)] += total
    return {kind: total for kind, total in sums.items() if total}


def _counted_messages() -> dict[tuple[str, ...], int]:
    with reading():
        columns = (Message.account, Message.number, Message.direction, Message.status)
        rows: Any = Message.select(*columns).tuples()
        return dict(Counter(rows))


def _counted_deliveries() -> dict[tuple[str, ...], int]:
    with reading():
        columns = (Delivery.webhook, Delivery.event_kind, Delivery.state)
        rows: Any = Delivery.select(*columns).tuples()
        return dict(Counter(rows))


def _counted_by_hour() -> dict[tuple[Any, ...], int]:
    with reading():
        hour = Message.created_at / HOUR_MS
        rows: Any = Message.select(Message.account, hour, Message.status).tuples()
        return dict(Counter(rows))


def _check() -> None:
    assert _tallied(MessageTally) == _counted_messages()
    assert _tallied(DeliveryTally) == _counted_deliveries()
    assert _tallied(MessageHour) == _counted_by_hour()


def test_every_step_of_a_message_moves_it_from_one_tally_to_the_next(number: Number) -> None:
    message = factories.outbound(number)
    factories.inbound(number)
    kind = (number.account_id, number.id, "OUTBOUND")
    for status in (MessageStatus.SENT, MessageStatus.READ, MessageStatus.DELIVERED):
        with writing():
            message.advance(status, at=1)
        _check()
    assert _tallied(MessageTally)[*kind, "read"] == 1
    assert (*kind, "sent") not in _tallied(MessageTally)


def test_a_transaction_that_is_undone_leaves_no_tally(number: Number) -> None:
    def write_in_vain() -> None:
        with writing():
            factories.outbound(number)
            raise RuntimeError("undone")

    with pytest.raises(RuntimeError, match="undone"):
        write_in_vain()
    assert _tallied(MessageTally) == {}


def test_whatever_happens_to_deliveries_they_are_tallied(account: Account, clock: Clock) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, webhook, other, count=20)
    _check()
    claimed = claim_due(30, Terms(15, 1000))
    _check()
    outcomes = [*map(factories.success, claimed[:20]), *map(factories.failure, claimed[20:])]
    record_outcomes(outcomes, lambda _: None, 1000)
    _check()
    with writing():
        assert Delivery.skip_waiting(webhook.id) == 5
    _check()
    ids = [row.id for row in Delivery.select(Delivery.id).where(Delivery.webhook == webhook.id)]
    with writing():
        assert Delivery.schedule_anew(ids, [DeliveryState.SKIPPED], clock.at) == 5
    _check()
    clock.advance(days=1)
    assert KINDS[0].remove(clock.at, 10) == 10
    _check()


def test_deliveries_of_a_deleted_webhook_leave_the_tallies(account: Account) -> None:
    """The database removes it by itself."""
    webhook, other = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, webhook, other, count=3)
    with writing():
        webhook.delete_instance()
    _check()
    assert {kind[0] for kind in _tallied(DeliveryTally)} == {other.id}


def test_old_messages_are_tallied_until_they_are_removed(number: Number, clock: Clock) -> None:
    with writing():
        for _ in range(3):
            factories.outbound(number).advance(MessageStatus.FAILED, at=1)
    clock.advance(days=1)
    factories.outbound(number)
    assert KINDS[1].remove(clock.at - 1, 10) == 3
    _check()


def test_pages_have_the_totals_of_the_tallies_whatever_the_filter(account: Account) -> None:
    numbers = [factories.active_number(account, f"100{n}", f"200{n}") for n in range(2)]
    dice = random.Random(1)  # noqa: S311 - no secret
    with writing():
        for n in range(40):
            factories.inbound(numbers[n % 2], f"wamid.{n}")
            message = factories.outbound(numbers[n % 2])
            message.advance(dice.choice([*MessageStatus]), at=1)
    rows = list(Message.select())
    for number_id in (None, numbers[0].id):
        for direction in (None, "INBOUND", "OUTBOUND"):
            for status in (None, *MessageStatus):
                wanted = {"number_id": number_id, "direction": direction, "status": status}
                given = {name: value for name, value in wanted.items() if value is not None}
                matching = [r for r in rows if all(getattr(r, k) == v for k, v in given.items())]
                page = MessageFilter(**wanted).page(account.id, 100, 0)
                assert page.total == len(page.rows) == len(matching), given


def test_deliveries_of_a_time_are_counted(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=2)
    border = clock.advance(hours=1)
    factories.deliveries(account, webhook, count=3)
    assert DeliveryFilter([webhook.id]).page(1, 0).total == 5
    assert DeliveryFilter([webhook.id], since=border).page(1, 0).total == 3
    assert DeliveryFilter([webhook.id], ["pending"], until=border).page(1, 0).total == 2
    assert DeliveryFilter([webhook.id], ["failed"], until=border).page(1, 0).total == 0


def test_a_page_behind_the_last_row_is_empty_and_knows_the_total(account: Account) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=3)
    wanted = DeliveryFilter([webhook.id])
    page = wanted.page(2, 2)
    assert (len(page.rows), page.total) == (1, 3)
    assert (wanted.page(2, 3).rows, wanted.page(2, 300).rows) == ([], [])


def _scatter(webhook: Webhook, account: Account) -> None:
    """The tallies after writes of several connections."""
    factories.deliveries(account, webhook, count=3)
    with writing():
        DeliveryTally.update(total=-4).execute()
        row = DeliveryTally.get().__data__
        for shard, total in ((7001, 5), (7002, 2), (7003, 0)):
            DeliveryTally.insert(row | {"shard": shard, "total": total}).execute()


def test_folding_the_shards_changes_no_sum(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    _scatter(factories.webhook(account), account)
    _check()
    tally.fold()
    assert DeliveryTally.select().count() == 4, "too few to be worth it"
    monkeypatch.setattr("models.reports.tally.FOLD_FROM", 1)
    tally.fold()
    _check()
    [row] = DeliveryTally.select()
    assert (row.shard, row.total) == (0, 3)


def test_a_tally_that_is_at_zero_is_forgotten(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook)
    with writing():
        Delivery.delete().execute()
    monkeypatch.setattr("models.reports.tally.FOLD_FROM", 1)
    tally.fold()
    assert not DeliveryTally.select().exists()


def test_threads_that_write_at_once_lose_no_count(account: Account, number: Number) -> None:
    webhook = factories.webhook(account)

    def write() -> None:
        for _ in range(5):
            with writing():
                factories.outbound(number).advance(MessageStatus.SENT, at=1)
            factories.deliveries(account, webhook)

    factories.at_once(*[write] * 4)
    assert MessageFilter(status="sent").page(account.id, 1, 0).total == 20
    assert DeliveryFilter([webhook.id]).page(1, 0).total == 20
    _check()
