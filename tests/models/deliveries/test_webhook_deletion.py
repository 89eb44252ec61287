"""A deleted webhook disappears at once. Its rows are removed in small batches."""

from collections.abc import Callable

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Attempt, record_outcomes
from models.deliveries.backlog import Backlog
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import LEAST_TRIES, Terms
from models.deliveries.delivery import Delivery
from models.deliveries.event import Event
from models.deliveries.webhook import Webhook, webhooks_of
from tasks.retention import remove_deleted
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due

LEASE_MS = 30_000
TERMS = Terms(100, LEASE_MS)


@pytest.fixture
def webhook(account: Account) -> Webhook:
    """An active webhook."""
    return factories.webhook(account)


def _delete(webhook: Webhook) -> None:
    with writing():
        webhook.mark_deleted()


def _fail_all() -> None:
    record_outcomes(map(factories.failure, claim_due(100, TERMS)), lambda _: None, 1000)


def _left(webhook: Webhook) -> list[int]:
    """Rows of the webhook, its deliveries, their attempts and its redeliveries."""
    theirs = Delivery.select(Delivery.id).where(Delivery.webhook == webhook.id)
    return [
        Webhook.deleted().where(Webhook.id == webhook.id).count(),
        theirs.count(),
        Attempt.select().where(Attempt.delivery.in_(theirs)).count(),
        Redelivery.select().where(Redelivery.webhook == webhook.id).count(),
    ]


def test_a_deleted_webhook_is_in_no_query(account: Account, webhook: Webhook) -> None:
    other = factories.webhook(account)
    mine, theirs = factories.deliveries(account, webhook, other)
    _delete(webhook)
    assert Webhook.by_id(webhook.id) is None
    with writing():
        assert [
            Webhook.all(),
            Webhook.all(account.id),
            list(webhooks_of.execute(account.id)),
            Webhook.page(account.id, 10, 0).rows,
        ] == [[other]] * 4
    assert Webhook.page(account.id, 10, 0).total == 1
    assert Delivery.find(mine.id) is None
    assert Delivery.find(theirs.id) == theirs
    assert Delivery.of_events([mine.event_id]) == [theirs]


def test_its_deliveries_are_neither_claimed_nor_counted(account: Account, webhook: Webhook) -> None:
    factories.deliveries(account, webhook, count=3)
    _delete(webhook)
    assert claim_due(10, TERMS) == []
    assert Backlog.read() == Backlog(pending=0, due=0, oldest_due_seconds=0)


def test_a_delivery_that_may_kill_its_worker_blocks_no_other(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    """One of these is tried at a time, the oldest first."""
    factories.deliveries(account, webhook)
    clock.advance(seconds=1)
    [suspect] = factories.deliveries(account, factories.webhook(account))
    for _ in range(LEAST_TRIES - 1):
        assert len(claim_due(10, TERMS)) == 2
        clock.advance(milliseconds=LEASE_MS)
    _delete(webhook)
    assert [claimed.delivery_id for claimed in claim_due(10, TERMS)] == [suspect.id]


@pytest.mark.parametrize("change", [Webhook.activate, Webhook.deactivate])
def test_a_late_change_does_not_restore_a_deleted_webhook(
    account: Account, webhook: Webhook, change: Callable[[Webhook], None]
) -> None:
    read_before = Webhook.get_by_id(webhook.id)
    _delete(webhook)
    with writing():
        change(read_before)
    assert Webhook.all(account.id) == []
    assert Webhook.deleted().where(Webhook.active).count() == 0


def test_all_rows_of_a_deleted_webhook_are_removed_in_batches(
    account: Account, webhook: Webhook
) -> None:
    other = factories.webhook(account)
    factories.deliveries(account, webhook, other, count=7)
    _fail_all()
    Redelivery.request(webhook.id, states=["failed"], since=None, until=None)
    _delete(webhook)
    seen = [_left(webhook)]
    while remove_deleted(3):
        seen.append(_left(webhook))
    assert seen == [[1, 7, 7, 1], [1, 4, 4, 1], [1, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]]
    assert _left(other) == [0, 7, 7, 0]
    assert Event.select().count() == 7


def test_running_deliveries_are_removed_at_their_end_and_block_no_others(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    other = factories.webhook(account)
    factories.deliveries(account, webhook, count=2)
    [claimed] = claim_due(1, TERMS)
    _delete(webhook)
    _delete(other)
    assert [remove_deleted(10) for _ in range(3)] == [1, 1, 0]
    assert (_left(webhook), _left(other)) == ([1, 1, 0, 0], [0, 0, 0, 0])
    record_outcomes([factories.failure(claimed)], lambda _: 30, 1)
    assert [remove_deleted(10) for _ in range(3)] == [1, 1, 0]
    # The worker of this one died.
    factories.deliveries(account, third := factories.webhook(account))
    claim_due(1, TERMS)
    _delete(third)
    assert remove_deleted(10) == 0
    clock.advance(milliseconds=LEASE_MS)
    assert [remove_deleted(10) for _ in range(3)] == [1, 1, 0]


def test_two_workers_remove_all_of_it(account: Account, webhook: Webhook) -> None:
    factories.deliveries(account, webhook, count=9)
    _fail_all()
    _delete(webhook)

    def remove_all() -> None:
        while remove_deleted(2):
            pass

    factories.at_once(remove_all, remove_all)
    assert _left(webhook) == [0, 0, 0, 0]
