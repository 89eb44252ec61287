"""The task that schedules redeliveries, and the sweep as its fallback."""

import pytest

import services.redeliver
from models.accounts.account import Account
from models.deliveries import bulk_redelivery
from models.deliveries.attempt import record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from models.errors import RateLimitedError
from services import redeliver
from services.redeliver import redeliver_many
from tasks import queue, sweep
from tasks.queue import huey
from tests import factories
from tests.conftest import Clock, Configure
from tests.factories import claim_due


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_redelivery, "BATCH_SIZE", 2)
    monkeypatch.setattr(redeliver, "PAUSE_SECONDS", 0)


@pytest.fixture
def webhook(configure: Configure, account: Account) -> Webhook:
    """A webhook with a request to redeliver five failed deliveries."""
    configure(REDELIVERY_RATE="1000000")
    row = factories.webhook(account)
    factories.deliveries(account, row, count=5)
    record_outcomes(map(factories.failure, claim_due(100, Terms(100, 1000))), lambda _: None, 1000)
    assert _request(row) == 5
    return row


def _request(webhook: Webhook) -> int:
    states = [DeliveryState.FAILED]
    return len(Redelivery.request(webhook.id, states=states, since=None, until=None))


def _waits(clock: Clock) -> list[int]:
    """The milliseconds until each pending delivery is due."""
    pending = Delivery.select().where(Delivery.state == DeliveryState.PENDING)
    return sorted((row.due_at or 0) - clock.at for row in pending)


def _pending() -> int:
    return Delivery.select().where(Delivery.state == DeliveryState.PENDING).count()


@pytest.mark.usefixtures("webhook")
def test_a_round_schedules_all() -> None:
    redeliver.work_off()
    assert _pending() == 5
    assert Redelivery.webhook_ids() == []


def test_a_round_is_bounded_and_the_next_one_continues(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redeliver, "MAX_PARTS", 2)
    redeliver.work_off()
    assert _pending() == 4
    redeliver.work_off()
    assert _pending() == 5
    assert Delivery.select().where(Delivery.webhook == webhook.id).count() == 5


def test_a_round_schedules_at_the_rate_and_no_further_than_the_next_round(
    configure: Configure, webhook: Webhook, clock: Clock
) -> None:
    configure(REDELIVERY_RATE="1", SWEEP_INTERVAL="1")
    redeliver.work_off()
    assert _waits(clock) == [1_000, 2_000, 3_000]
    sweep.sweep()
    assert _waits(clock) == [1_000, 2_000, 3_000], "none is recalled from the future"
    clock.advance(seconds=1)
    redeliver.work_off()
    assert _pending() == 4
    assert webhook.active


@pytest.mark.usefixtures("webhook")
def test_a_queue_that_fails_is_no_end_of_a_redelivery(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr(huey, "enqueue", fail)
    queue.redeliveries.ring()
    assert "wake-up not queued" in caplog.text
    queue.deliveries.ring()
    redeliver.work_off()
    assert _pending() == 5


def test_a_webhook_with_many_waiting_redeliveries_is_refused_more_and_others_are_not(
    webhook: Webhook, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (services.redeliver, bulk_redelivery):
        monkeypatch.setattr(module, "MAX_REDELIVERIES", 6)
    with pytest.raises(RateLimitedError, match=r"\b6\b"):
        redeliver_many(webhook)
    assert redeliver_many(factories.webhook(account)) == []
    redeliver.work_off()
    assert redeliver_many(webhook) == []
