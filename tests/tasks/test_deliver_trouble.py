"""Deliveries wait while this machine cannot make requests, and no attempt counts."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import REGISTRY

from models import clock
from models.accounts.account import Account
from models.database.heartbeat import Heartbeat
from models.deliveries.attempt import Attempt
from models.deliveries.delivery import Delivery, DeliveryState
from tasks import claim_pause, deliver
from tasks.claim_pause import ClaimPause
from tests import factories
from tests.receiver import Receiver
from tests.tasks.engines import Troubled
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.faults import DESCRIPTORS, HINTS, MachineError
from webhooks.schedule import RetrySchedule

pytestmark = pytest.mark.usefixtures("state")


NEVER = 1_000_000


@contextmanager
def _running(client: WebhookClient) -> Iterator[deliver.Engine]:
    engine = deliver.Engine(client, RetrySchedule((30.0,)), 10, 10)
    engine.start()
    try:
        yield engine
    finally:
        engine.stop()


def test_deliveries_wait_and_their_attempts_do_not_count(
    account: Account,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(claim_pause, "FIRST_PAUSE_SECONDS", 0.02)
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook, count=5)
    before = claim_pause.ERRORS.labels(cause=DESCRIPTORS)._value.get()
    open_ones = Delivery.select().where(Delivery.state != DeliveryState.DELIVERED)

    def is_done() -> bool:
        # What is given back after the end of the pause is found by a poll, as in the worker.
        engine.look()
        return not open_ones.exists()

    with caplog.at_level(logging.ERROR), _running(Troubled(12)) as engine:
        until(is_done, "all deliveries")
        assert engine._claim_pause.pause == 0, "the next pause is short again"
    assert [row.attempt_count for row in Delivery.select()] == [1] * 5
    assert [row.success for row in Attempt.select()] == [True] * 5
    assert claim_pause.ERRORS.labels(cause=DESCRIPTORS)._value.get() == before + 12
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 1
    assert Heartbeat.troubles_since(clock.now() - 10_000) == [DESCRIPTORS]


def test_nothing_is_claimed_during_the_pause(
    account: Account, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_pause, "FIRST_PAUSE_SECONDS", 60)
    monkeypatch.setattr(claim_pause, "LONGEST_PAUSE_SECONDS", 60)
    factories.deliveries(account, factories.webhook(account, receiver.url()), count=5)
    client = Troubled(NEVER)
    with _running(client) as engine:
        until(lambda: Heartbeat.troubles_since(0), "trouble")
        engine.wake()
        # The engine claims within this time otherwise.
        until(lambda: not engine._lanes[0].in_flight, "the end of all attempts")
        time.sleep(0.3)
    assert NEVER - client.failures <= 5
    assert Delivery.select().where(Delivery.due).count() == 5


def test_the_pause_grows_until_a_receiver_responds() -> None:
    noted = ClaimPause()
    pauses = []
    for _ in range(6):
        pauses.append(noted.note(MachineError(DESCRIPTORS)))
        assert noted.note(MachineError(DESCRIPTORS)) is None, "one pause for all attempts"
        noted.resume()
    assert pauses == [0.5, 1, 2, 4, 8, 8]
    noted.end()
    assert noted.note(MachineError(DESCRIPTORS)) == 0.5


def test_a_cause_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    at = [100.0]
    noted = ClaimPause(lambda: at[0])
    assert noted.pause == 0, "no trouble yet"
    counts = []
    for elapsed in (0, claim_pause.LOG_SECONDS - 1, claim_pause.LOG_SECONDS):
        at[0] = 100 + elapsed
        noted.note(MachineError(DESCRIPTORS))
        counts.append(len(caplog.records))
    assert counts == [1, 1, 2]


def test_each_cause_has_a_series_before_its_first_error() -> None:
    series = [{"cause": cause} for cause in HINTS]
    values = [REGISTRY.get_sample_value("gateway_machine_errors_total", each) for each in series]
    assert None not in values
