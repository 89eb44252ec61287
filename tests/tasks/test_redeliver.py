"""The task that works redeliveries off, and the sweep behind it."""

import pytest

from models import redelivery
from models.account import Account
from models.claim import Terms, claim_due
from models.delivery import Delivery, DeliveryState
from models.recording import record_outcomes
from models.redelivery import Redelivery
from models.webhook import Webhook
from tasks import deliver, redeliver, sweep
from tasks.queue import huey
from tests import factories


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redelivery, "BATCH_SIZE", 2)
    monkeypatch.setattr(redeliver, "PAUSE_SECONDS", 0)


@pytest.fixture
def webhook(account: Account) -> Webhook:
    """A webhook for which five failed deliveries are to be redelivered."""
    row = factories.webhook(account)
    factories.deliveries(account, row, count=5)
    record_outcomes(map(factories.failure, claim_due(100, Terms(100, 1000))), lambda _: None, 1000)
    assert _request(row) == 5
    return row


def _request(webhook: Webhook) -> int:
    states = [DeliveryState.FAILED]
    return Redelivery.request(webhook.id, states=states, since=None, until=None).count


def _pending() -> int:
    return Delivery.select().where(Delivery.state == DeliveryState.PENDING).count()


@pytest.mark.usefixtures("webhook")
def test_the_task_schedules_all_and_wakes_the_delivery() -> None:
    redeliver.bell.ring()
    task = huey.dequeue()
    assert task.name == "schedule_redeliveries"
    huey.execute(task)
    assert _pending() == 5
    assert huey.dequeue().name == "deliver_due"


@pytest.mark.usefixtures("webhook")
def test_the_sweep_takes_what_a_lost_queue_left() -> None:
    sweep.sweep()
    assert _pending() == 5
    assert not Redelivery.exist()


def test_a_round_is_bounded_and_the_next_one_goes_on(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redeliver, "MAX_BATCHES", 2)
    redeliver.work_off()
    assert _pending() == 4
    redeliver.work_off()
    assert _pending() == 5
    assert Delivery.select().where(Delivery.webhook == webhook.id).count() == 5


@pytest.mark.usefixtures("state")
def test_nothing_to_redeliver_wakes_nobody() -> None:
    redeliver.work_off()
    assert len(huey) == 0


@pytest.mark.usefixtures("webhook")
def test_a_queue_that_fails_is_no_end_of_a_redelivery(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr(huey, "enqueue", fail)
    redeliver.bell.ring()
    assert "wake-up not queued" in caplog.text
    deliver.bell.ring()
    sweep.sweep()
    assert _pending() == 5
