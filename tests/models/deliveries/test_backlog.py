"""The backlog of deliveries."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import record_outcomes
from models.deliveries.backlog import Backlog
from models.deliveries.claim import Terms
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due


@pytest.mark.usefixtures("state")
def test_a_new_database_has_no_backlog() -> None:
    assert Backlog.read() == Backlog(pending=0, due=0, oldest_due_seconds=0)


def test_what_is_due_is_counted_with_the_age_of_the_oldest(account: Account, clock: Clock) -> None:
    hook = factories.webhook(account)
    factories.deliveries(account, hook)
    clock.advance(seconds=2)
    factories.deliveries(account, hook)
    clock.advance(seconds=1)
    assert Backlog.read() == Backlog(pending=2, due=2, oldest_due_seconds=3)


def test_what_waits_for_a_batch_is_not_due(account: Account, clock: Clock) -> None:
    hook = factories.webhook(account)
    with writing():
        hook.change(batch_events=10, batch_wait_ms=500)
    factories.deliveries(account, hook)
    clock.advance(seconds=59)
    assert Backlog.read() == Backlog(pending=1, due=0, oldest_due_seconds=0)
    clock.advance(seconds=1)
    assert Backlog.read() == Backlog(pending=1, due=1, oldest_due_seconds=60)
    with writing():
        hook.change(batch_events=10, batch_wait_ms=0)
    factories.deliveries(account, hook)
    assert Backlog.read().due == 2


def test_running_attempts_and_future_retries_are_pending_and_not_due(
    account: Account, clock: Clock
) -> None:
    factories.deliveries(account, factories.webhook(account), count=2)
    clock.advance(seconds=1)
    retried, _ = claim_due(9, Terms(9, 10_000))
    record_outcomes([factories.failure(retried)], lambda _: 30, 9)
    assert Backlog.read() == Backlog(pending=2, due=0, oldest_due_seconds=0)


def test_delivered_events_are_not_in_the_backlog(account: Account) -> None:
    factories.deliveries(account, factories.webhook(account))
    record_outcomes(map(factories.success, claim_due(9, Terms(9, 10_000))), lambda _: None, 9)
    assert Backlog.read().pending == 0
