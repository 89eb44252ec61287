"""Recording outcomes while the disk of the database is full."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from peewee import OperationalError

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.deliveries.attempt import Attempt, Outcome, record_outcomes
from models.deliveries.delivery import Delivery, DeliveryState
from tasks import deliver, queue
from tests import factories
from tests.receiver import Receiver
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.schedule import RetrySchedule

pytestmark = pytest.mark.usefixtures("state")


class FullDisk:
    """Refuses to record outcomes while ``is_full``."""

    def __init__(self, record: Callable[..., Counter[str]]) -> None:
        self._record = record
        self.is_full = True
        self.refused: list[list[Outcome]] = []

    def __call__(self, outcomes: list[Outcome], *arguments: Any) -> Counter[str]:
        """Replaces ``record_outcomes``."""
        if self.is_full:
            self.refused.append(outcomes)
            raise OperationalError("database or disk is full")
        return self._record(outcomes, *arguments)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    """A disk that is full until the test clears ``is_full``."""
    full = FullDisk(record_outcomes)
    monkeypatch.setattr(deliver, "record_outcomes", full)
    monkeypatch.setattr(deliver, "FAILURE_PAUSE_SECONDS", 0.01)
    return full


@pytest.fixture
def engine(state: Stored, disk: FullDisk) -> Iterator[deliver.Engine]:
    """A running engine, on the database of the test."""
    assert state.environment
    client = WebhookClient(timeout=10, allow_local=True, user_agent="Gateway/1")
    running = deliver.Engine(client, RetrySchedule((0.02,)), 10, 10)
    running.start()
    yield running
    disk.is_full = False
    running.stop()


@pytest.mark.usefixtures("engine")
def test_an_unrecorded_outcome_is_recorded_later_and_not_sent_again(
    account: Account, receiver: Receiver, disk: FullDisk
) -> None:
    factories.deliveries(account, factories.webhook(account, receiver.url()), count=2)
    queue.deliveries.ring()
    receiver.wait(2)
    until(lambda: len(disk.refused) >= 3, "a few refusals")
    queue.deliveries.ring()
    assert {outcome.error for batch in disk.refused for outcome in batch} == {None}
    assert len(receiver.at()) == 2
    disk.is_full = False
    until(lambda: Attempt.select().count() == 2, "both attempts on record")
    assert {delivery.state for delivery in Delivery.select()} == {DeliveryState.DELIVERED}
    assert len(receiver.at()) == 2


def test_nothing_is_claimed_until_the_outcomes_are_recorded(
    account: Account, receiver: Receiver, disk: FullDisk, engine: deliver.Engine
) -> None:
    """If the worker died, it would be sent twice like all attempts without a recorded outcome."""
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook)
    engine.wake()
    until(lambda: disk.refused, "a refusal")
    [waiting] = factories.deliveries(account, webhook)
    engine.wake()
    refused = len(disk.refused)
    until(lambda: len(disk.refused) > refused + 20, "time in which it would have been claimed")
    assert Delivery.get_by_id(waiting.id).lease_token is None
    disk.is_full = False
    until(lambda: Attempt.select().count() == 2, "both attempts, without another wake-up")


def test_a_worker_ends_though_the_disk_is_full_and_leaves_its_lease_to_run_out(
    account: Account, receiver: Receiver, disk: FullDisk, engine: deliver.Engine
) -> None:
    factories.deliveries(account, factories.webhook(account, receiver.url()))
    queue.deliveries.ring()
    until(lambda: disk.refused, "a refusal")
    engine.stop()
    (delivery,) = Delivery.select()
    assert delivery.state == DeliveryState.PENDING
    assert delivery.lease_token is not None
