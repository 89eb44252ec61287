"""A worker without heartbeats loses its claims, and one that is alive keeps them."""

import pytest

from models.accounts.account import Account
from models.database.heartbeat import Heartbeat
from models.deliveries import claim
from models.deliveries.attempt import NO_OUTCOME, Attempt
from models.deliveries.claim import LEAST_TRIES, ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery
from models.deliveries.other_workers import BEAT_SECONDS, OtherWorkers
from tests import factories
from tests.conftest import Clock

LEASE_MS = 30_000
# The looks without a heartbeat that a worker survives.
MISSED = 3
DEAD, ALIVE = "worker_dead_", "worker_alive"


@pytest.fixture
def watch() -> OtherWorkers:
    """What a worker knows of the others that has just started."""
    return OtherWorkers(ALIVE)


def _claim(worker: str, account: Account) -> ClaimedDelivery:
    factories.deliveries(account, factories.webhook(account))
    [claimed] = claim.claim_due(1, Terms(1, LEASE_MS, worker=worker)).deliveries
    assert claimed.lease_token.startswith(worker)
    return claimed


def _look(watch: OtherWorkers, clock: Clock, times: int, also: str | None = None) -> None:
    for _ in range(times):
        clock.advance(seconds=BEAT_SECONDS)
        if also is not None:
            Heartbeat.beat_as(also)
        watch.look()


def test_the_claims_of_a_dead_worker_are_due(
    account: Account, clock: Clock, watch: OtherWorkers, caplog: pytest.LogCaptureFixture
) -> None:
    Heartbeat.beat_as(DEAD)
    claimed = _claim(DEAD, account)
    # The first one only learns of it.
    _look(watch, clock, MISSED)
    assert claim.bring_back(LEAST_TRIES) == (False, False), "it may be alive"
    _look(watch, clock, 1)
    assert claim.bring_back(LEAST_TRIES) == (True, False)
    [again] = claim.claim_due(1, Terms(1, LEASE_MS)).deliveries
    assert (again.delivery_id, again.attempt_number) == (claimed.delivery_id, 2)
    [lost] = Attempt.select()
    assert (lost.number, lost.error) == (1, NO_OUTCOME)
    assert f"worker {DEAD} died: 1 deliveries" in caplog.text
    assert Heartbeat.beat_as(ALIVE).keys() == {ALIVE}


def test_the_claims_of_living_workers_and_waiting_retries_stay(
    account: Account, clock: Clock, watch: OtherWorkers
) -> None:
    Heartbeat.beat_as(DEAD)
    for worker in (ALIVE, "worker_other", ""):
        _claim(worker, account)
    before = {d.id: d.due_at for d in Delivery.select()}
    _look(watch, clock, 3 * MISSED, also="worker_other")
    assert {d.id: d.due_at for d in Delivery.select()} == before
    assert Heartbeat.beat_as(ALIVE).keys() == {ALIVE, "worker_other"}


def test_a_worker_that_shows_itself_at_last_keeps_its_claims(
    account: Account, clock: Clock, watch: OtherWorkers
) -> None:
    claimed = _claim(DEAD, account)
    for _ in range(3):
        _look(watch, clock, 1, also=DEAD)
        _look(watch, clock, MISSED - 1)
    assert claim.bring_back(LEAST_TRIES) == (False, False)
    assert Delivery.get_by_id(claimed.delivery_id).lease_token == claimed.lease_token


def test_a_claim_whose_lease_is_over_is_released_once(
    account: Account, clock: Clock, watch: OtherWorkers
) -> None:
    Heartbeat.beat_as(DEAD)
    claimed = _claim(DEAD, account)
    clock.advance(milliseconds=LEASE_MS)
    due_at = Delivery.get_by_id(claimed.delivery_id).due_at
    _look(watch, clock, MISSED + 1)
    assert Delivery.get_by_id(claimed.delivery_id).due_at == due_at
