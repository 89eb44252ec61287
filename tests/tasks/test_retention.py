"""Rounds of the retention: the meaning of each setting, and the bound of a round."""

import logging

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Attempt, record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import UNDELIVERED, Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook
from models.messages.callback import Callback, Reason, SetAside
from models.messages.message import Message, MessageStatus, StatusChange
from models.numbers.number import Number
from services import webhooks as service
from tasks import retention, sweep
from tests import factories
from tests.conftest import Clock, Configure
from tests.factories import claim_due


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAUSE_SECONDS", 0)


def _delivered(account: Account, count: int = 1) -> None:
    factories.deliveries(account, factories.webhook(account), count=count)
    claimed = claim_due(100, Terms(100, 1000))
    record_outcomes(map(factories.success, claimed), lambda _: None, 10)


def _finish_all() -> None:
    record_outcomes(map(factories.failure, claim_due(100, Terms(100, 1000))), lambda _: None, 100)


def _failed(account: Account, count: int = 1) -> list[str]:
    """Failed deliveries of a new webhook."""
    made = factories.deliveries(account, factories.webhook(account), count=count)
    _finish_all()
    return [delivery.id for delivery in made]


def _counts() -> list[int]:
    models = (Delivery, Attempt, Event, Message, StatusChange)
    return [model.select().count() for model in models]


def test_the_sweep_removes_what_is_older_than_the_setting(
    configure: Configure, account: Account, number: Number, clock: Clock
) -> None:
    configure(RETENTION_DAYS="7")
    _delivered(account)
    message = factories.outbound(number)
    with writing():
        message.advance(MessageStatus.FAILED, at=clock.at)
    clock.advance(days=7)
    sweep.sweep()
    assert _counts() == [1, 1, 1, 1, 1]
    clock.advance(milliseconds=1)
    sweep.sweep()
    assert _counts() == [0, 0, 0, 0, 0]


def test_retention_defaults_to_thirty_days(account: Account, clock: Clock) -> None:
    _delivered(account)
    clock.advance(days=30)
    retention.remove_old()
    assert Delivery.select().count() == 1
    clock.advance(milliseconds=1)
    retention.remove_old()
    assert Delivery.select().count() == 0


def test_a_round_is_bounded_and_the_next_one_continues(
    account: Account, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_SIZE", 2)
    monkeypatch.setattr(retention, "MAX_BATCHES", 3)
    _delivered(account, 7)
    clock.advance(days=31)
    retention.remove_old()
    assert _counts()[:3] == [1, 1, 1], "and not the event of the one that is left"
    retention.remove_old()
    assert _counts()[:3] == [0, 0, 0]


def test_a_delivery_of_an_accepted_redelivery_outlives_the_setting_until_its_turn(
    account: Account, clock: Clock
) -> None:
    _failed(account, 3)
    [other] = _failed(account)
    clock.advance(days=30)
    webhook_id = Delivery.get(Delivery.id != other).webhook_id
    chosen = Redelivery.request(webhook_id, states=UNDELIVERED, since=None, until=None)
    assert Redelivery.schedule_part(webhook_id, 1, 10_000) == 1
    clock.advance(minutes=2)
    retention.remove_old()
    assert [row.id for row in Delivery.select().order_by(Delivery.id)] == chosen
    assert Redelivery.schedule_part(webhook_id, 10, 10_000) is None, "the receiver is behind"
    _finish_all()
    assert Redelivery.schedule_part(webhook_id, 10, 10_000) == 2
    clock.advance(seconds=1)
    _finish_all()
    retention.remove_old()
    assert Delivery.select().count() == 0


@pytest.mark.usefixtures("state")
def test_callbacks_that_the_first_release_ingested_go_at_once_and_items_set_aside_with_the_rest(
    clock: Clock,
) -> None:
    ingested, waiting = Callback.store(b"{}", b"{}")
    ingested.amend(ingested_at=clock.at, due_at=None)
    with writing():
        SetAside.record(Reason.FAILED, b"{}", ())
    clock.advance(milliseconds=1)
    retention.remove_old()
    assert [c.id for c in Callback.select()] == [waiting.id]
    clock.advance(days=30)
    assert len(SetAside.waiting()) == 1
    retention.remove_old()
    assert SetAside.waiting() == []
    assert [c.id for c in Callback.select()] == [waiting.id]


def test_what_was_removed_is_logged_by_kind(
    account: Account, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    _delivered(account, 2)
    clock.advance(days=31)
    retention.remove_old()
    retention.remove_old()
    logged = [r.getMessage() for r in caplog.records if r.name == retention.__name__]
    kinds = ["2 old deliveries", "2 old events", "1 old proven hosts"]
    assert logged == [f"{kind} removed" for kind in kinds]


def test_the_sweep_removes_what_a_deleted_webhook_left_a_little_in_each_round(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_SIZE", 2)
    monkeypatch.setattr(retention, "MAX_BATCHES", 2)
    _delivered(account, 5)
    [webhook] = Webhook.all()
    service.delete(webhook)
    assert _counts()[:3] == [5, 5, 5], "the request removes nothing itself"
    sweep.sweep()
    assert _counts()[:3] == [1, 1, 5]
    sweep.sweep()
    assert _counts()[:3] == [0, 0, 5]
    sweep.sweep()
    assert Webhook.deleted().count() == 0
