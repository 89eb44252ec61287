"""The check before an attempt: its claim still holds, for long enough, and the webhook is still active."""

import time
from collections.abc import Callable

import pytest
from peewee import OperationalError

from models import clock
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import Attempt
from models.deliveries.claim import (
    LEASE_MARGIN_MS,
    Claim,
    ClaimedDelivery,
    Terms,
    claim_due,
    is_wanted,
)
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from tasks import deliver
from tests import factories
from tests.receiver import Receiver
from tests.tasks.engines import TIMEOUT, running
from tests.waiting import until

STALE_SECONDS = 0.05


@pytest.fixture
def webhook(account: Account, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Webhook:
    """A webhook with one due delivery. Its attempt checks a claim that is 50 ms old."""
    monkeypatch.setattr(deliver, "STALE_SECONDS", STALE_SECONDS)
    made = factories.webhook(account, receiver.url())
    factories.deliveries(account, made)
    return made


def _claim_slowly(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> list[str]:
    """Make each claim stale, and call ``then`` after the first. Returns the tokens of all claims."""
    tokens: list[str] = []

    def claim(room: int, terms: Terms) -> Claim:
        batch = claim_due(room, terms)
        if batch.deliveries:
            if not tokens:
                then()
            tokens.append(batch.deliveries[0].lease_token)
            time.sleep(2 * STALE_SECONDS)
        return batch

    monkeypatch.setattr(deliver, "claim_due", claim)
    return tokens


def _has(state: DeliveryState) -> bool:
    return Delivery.get().state == state


def _disable(webhook: Webhook) -> None:
    with writing():
        webhook.deactivate()


def test_an_attempt_is_as_old_as_the_beginning_of_its_claim(
    webhook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller that disables the webhook right after a claim waits from there."""
    _claim_slowly(monkeypatch, lambda: _disable(webhook))
    with running():
        until(lambda: _has(DeliveryState.SKIPPED), "an end of the delivery")
    assert receiver.at() == []


def test_a_check_that_took_too_long_is_repeated(
    webhook: Webhook, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[bool] = []

    def check_slowly(claimed: ClaimedDelivery, left_ms: int) -> bool:
        checks.append(is_wanted(claimed, left_ms))
        if len(checks) == 1:
            _disable(webhook)
            time.sleep(2 * STALE_SECONDS)
        return checks[-1]

    _claim_slowly(monkeypatch, lambda: None)
    monkeypatch.setattr(deliver, "is_wanted", check_slowly)
    with running():
        until(lambda: _has(DeliveryState.SKIPPED), "an end of the delivery")
    assert checks == [True, False]
    assert receiver.at() == []


@pytest.mark.parametrize(("missing_ms", "claims"), [(1, 2), (-5000, 1)])
@pytest.mark.usefixtures("webhook")
def test_an_attempt_that_could_outlast_its_lease_is_claimed_again(
    missing_ms: int, claims: int, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs the time for the exchange, and half of the margin to record its outcome."""
    needed_ms = TIMEOUT * 1000 + LEASE_MARGIN_MS // 2

    def shorten() -> None:
        with writing():
            Delivery.update(due_at=clock.now() + needed_ms - missing_ms).execute()

    tokens = _claim_slowly(monkeypatch, shorten)
    with running():
        until(lambda: _has(DeliveryState.DELIVERED), "a delivery")
    assert len(tokens) == claims
    assert [request.headers["x-service-attempt"] for request in receiver.at()] == ["1"]
    assert [attempt.number for attempt in Attempt.select()] == [1]


@pytest.mark.usefixtures("webhook")
def test_a_database_that_fails_before_the_first_byte_is_not_the_receivers_failure(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliver, "STALE_SECONDS", 0)

    def fail_once(*_: object) -> bool:
        monkeypatch.setattr(deliver, "STALE_SECONDS", 10)
        raise OperationalError("database is locked")

    tokens = _claim_slowly(monkeypatch, lambda: None)
    monkeypatch.setattr(deliver, "is_wanted", fail_once)
    with running():
        receiver.wait()
        until(lambda: Attempt.select().count() == 1, "the recorded attempt")
    [attempt] = Attempt.select()
    assert (attempt.number, attempt.success) == (1, True)
    assert (len(receiver.at()), len(tokens)) == (1, 2)
