"""Deliveries: who gets an event, and how a delivery is started anew."""

from typing import Any

from models.account import Account
from models.claim import claim_due, record_outcomes
from models.database import writing
from models.delivery import Delivery, DeliveryState
from models.webhook import Webhook
from tests import factories
from tests.conftest import Clock

SKIPPED, PENDING, FAILED = DeliveryState.SKIPPED, DeliveryState.PENDING, DeliveryState.FAILED


def _schedule(account: Account, *webhooks: Webhook, **event: Any) -> bool:
    row = factories.event(account, **event)
    with writing():
        return Delivery.schedule(row, list(webhooks))


def _states(webhook: Webhook) -> list[str]:
    query = Delivery.select().where(Delivery.webhook == webhook.id).order_by(Delivery.id)
    return [delivery.state for delivery in query]


def _fail_all() -> None:
    claimed = claim_due(100, 100, 1000)
    record_outcomes(map(factories.failure, claimed), lambda _: None, 1000)


def test_an_active_webhook_gets_a_delivery_that_is_due_now(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)
    assert _schedule(account, webhook)
    [delivery] = Delivery.select()
    assert (delivery.state, delivery.next_attempt_at) == (PENDING, clock.at)
    assert (delivery.webhook_id, delivery.completed_at) == (webhook.id, None)


def test_an_inactive_webhook_gets_a_skipped_one_for_later(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account, active=False)
    assert not _schedule(account, webhook)
    [delivery] = Delivery.select()
    assert (delivery.state, delivery.next_attempt_at) == (SKIPPED, None)
    assert delivery.completed_at == clock.at


def test_one_active_webhook_among_inactive_ones_is_waited_for(account: Account) -> None:
    inactive, active = factories.webhook(account, active=False), factories.webhook(account)
    assert _schedule(account, inactive, active)
    assert (_states(inactive), _states(active)) == ([SKIPPED], [PENDING])


def test_only_webhooks_that_want_the_kind_and_number_get_a_delivery(account: Account) -> None:
    for_all = factories.webhook(account, events=["message.sent", "message.read"])
    for_number = factories.webhook(account, events=["message.read"], number_ids=["num_1"])
    _schedule(account, for_all, for_number, kind="message.read", number_id="num_1")
    _schedule(account, for_all, for_number, kind="message.read", number_id="num_2")
    _schedule(account, for_all, for_number, kind="message.sent", number_id="num_1")
    _schedule(account, for_all, for_number, kind="message.failed", number_id="num_1")
    assert (len(_states(for_all)), len(_states(for_number))) == (3, 1)


def test_a_skipped_wait_leaves_attempts_under_way_alone(account: Account) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, webhook, other, count=3)
    claim_due(room=1, per_webhook=1, lease_ms=1000)
    with writing():
        skipped = Delivery.skip_waiting(webhook.id)
    assert skipped == 2
    assert sorted(_states(webhook)) == [PENDING, SKIPPED, SKIPPED]
    assert _states(other) == [PENDING] * 3


def test_redelivering_starts_a_fresh_retry_schedule(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)
    [delivery] = factories.deliveries(account, webhook)
    _fail_all()
    clock.advance(hours=1)
    delivery.redeliver()
    assert (delivery.state, delivery.tries) == (PENDING, 0)
    assert (delivery.next_attempt_at, delivery.completed_at) == (clock.at, None)
    assert delivery.attempt_count == 1, "the log of attempts goes on"
    [claimed] = claim_due(1, 1, 1000)
    assert claimed.attempt_number == 2


def test_redelivering_what_waits_makes_it_due_now(account: Account, clock: Clock) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, 1, 1000)
    record_outcomes([factories.failure(claimed)], lambda _: 1800, 10)
    assert claim_due(1, 1, 1000) == []
    delivery.redeliver()
    assert delivery.tries == 0
    assert len(claim_due(1, 1, 1000)) == 1
    assert clock.at == delivery.next_attempt_at


def test_redelivering_during_an_attempt_does_not_double_it(account: Account) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, 1, 1000)
    delivery.redeliver()
    assert claim_due(1, 1, 1000) == []
    record_outcomes([factories.success(claimed)], lambda _: None, 10)
    assert Delivery.get_by_id(delivery.id).state == DeliveryState.DELIVERED


def test_deleting_a_webhook_takes_its_deliveries_along(account: Account) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, webhook, other, count=2)
    _fail_all()
    with writing():
        webhook.delete_instance()
    assert _states(webhook) == []
    assert _states(other) == [FAILED] * 2
