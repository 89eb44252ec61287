"""Deliveries: the webhooks that get an event, and redelivery."""

from typing import Any

import pytest

from models.accounts.account import Account
from models.database import database, writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.claim import Terms, give_back
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.delivery_filter import DeliveryFilter
from models.deliveries.webhook import Webhook
from models.page import Page, in_order
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due

SKIPPED, PENDING, FAILED = DeliveryState.SKIPPED, DeliveryState.PENDING, DeliveryState.FAILED


def _schedule(account: Account, *webhooks: Webhook, **event: Any) -> None:
    row = factories.event(account, **event)
    with writing():
        Delivery.schedule(row, list(webhooks))


def _states(webhook: Webhook) -> list[str]:
    query = Delivery.select().where(Delivery.webhook == webhook.id).order_by(Delivery.id)
    return [delivery.state for delivery in query]


def _fail_all() -> None:
    claimed = claim_due(100, Terms(100, 1000))
    record_outcomes(map(factories.failure, claimed), lambda _: None, 1000)


def test_an_active_webhook_gets_a_delivery_that_is_due_now(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)
    _schedule(account, webhook)
    [delivery] = Delivery.select()
    assert (delivery.state, delivery.due_at) == (PENDING, clock.at)
    assert (delivery.webhook_id, delivery.completed_at) == (webhook.id, None)


def test_an_inactive_webhook_gets_a_skipped_one_for_later(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account, active=False)
    _schedule(account, webhook)
    [delivery] = Delivery.select()
    assert (delivery.state, delivery.due_at) == (SKIPPED, None)
    assert delivery.completed_at == clock.at


def test_each_webhook_gets_one_by_its_own_state(account: Account) -> None:
    inactive, active = factories.webhook(account, active=False), factories.webhook(account)
    _schedule(account, inactive, active)
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
    claim_due(1, Terms(1, 1000))
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
    assert (delivery.due_at, delivery.completed_at) == (clock.at, None)
    assert delivery.attempt_count == 1, "the log of attempts continues"
    [claimed] = claim_due(1, Terms(1, 1000))
    assert claimed.attempt_number == 2


def test_redelivering_what_waits_makes_it_due_now(account: Account, clock: Clock) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, Terms(1, 1000))
    record_outcomes([factories.failure(claimed)], lambda _: 1800, 10)
    assert claim_due(1, Terms(1, 1000)) == []
    delivery.redeliver()
    assert delivery.tries == 0
    assert len(claim_due(1, Terms(1, 1000))) == 1
    assert clock.at == delivery.due_at


def test_claims_skip_many_waiting_deliveries_in_batches(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.deliveries.delivery.MOST_SKIPPED", 2)
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=5)
    with writing():
        webhook.deactivate()
        assert Delivery.skip_waiting(webhook.id) == 2
    for _ in range(2):
        assert claim_due(10, Terms(10, 1000)) == []
    assert _states(webhook) == [SKIPPED] * 5


def test_redelivering_during_an_attempt_does_not_double_it(account: Account) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, Terms(1, 1000))
    delivery.redeliver()
    assert claim_due(1, Terms(1, 1000)) == []
    record_outcomes([factories.success(claimed)], lambda _: None, 10)
    assert Delivery.get_by_id(delivery.id).state == DeliveryState.DELIVERED


def test_redelivering_during_an_attempt_that_fails_starts_a_fresh_retry_schedule(
    account: Account, clock: Clock
) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, Terms(1, 1000))
    delivery.redeliver()
    record_outcomes([factories.failure(claimed)], lambda _: None, 10)
    row = Delivery.get_by_id(delivery.id)
    assert (row.state, row.tries, row.due_at) == (PENDING, 0, clock.at)
    [again] = claim_due(1, Terms(1, 1000))
    assert again.attempt_number == 2
    record_outcomes([factories.failure(again)], lambda tries: {1: 30.0}[tries], 10)
    assert Delivery.get_by_id(delivery.id).due_at == clock.at + 30_000


def test_redelivering_before_an_attempt_that_is_given_back_counts_no_try(account: Account) -> None:
    [delivery] = factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, Terms(1, 1000))
    delivery.redeliver()
    give_back([claimed])
    assert Delivery.get_by_id(delivery.id).tries == 0


def test_the_deliveries_of_events_know_their_webhooks(account: Account) -> None:
    first, second = factories.webhook(account, "http://a/"), factories.webhook(account, "http://b/")
    wanted = factories.deliveries(account, first, second, count=2)
    factories.deliveries(account, first)
    found = Delivery.of_events([delivery.event_id for delivery in wanted])
    assert [delivery.id for delivery in found] == [delivery.id for delivery in wanted]
    assert {delivery.webhook.url for delivery in found} == {"http://a/", "http://b/"}
    assert Delivery.of_events([]) == []


@pytest.mark.sqlite("the words of its query plans")
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (None, "delivery_webhook_id_id"),
        (PENDING, "delivery_webhook_id_id"),
        (FAILED, "delivery_undelivered"),
        (SKIPPED, "delivery_undelivered"),
    ],
)
def test_a_page_of_deliveries_comes_from_an_index_in_its_order(
    account: Account, monkeypatch: pytest.MonkeyPatch, wanted: str | None, index: str
) -> None:
    queries: list[Any] = []

    def keep(query: Any, limit: int, offset: int, _total: int | None) -> Page[Delivery]:
        queries.append(in_order(query, {"id": Delivery.id}).limit(limit).offset(offset))
        return Page([], 0, limit, offset)

    monkeypatch.setattr("models.deliveries.delivery_filter.fetch_page", keep)
    webhook = factories.webhook(account)
    states = None if wanted is None else [wanted]
    DeliveryFilter([webhook.id], states, "message.sent", since=1, until=2).page(50, 0)
    sql, values = queries[0].sql()
    [step] = [row[3] for row in database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert f"USING INDEX {index} (webhook_id=? AND id>? AND id<?)" in step
