"""What is due again after a wait or a lost lease, and what may be claimed alone."""

from collections.abc import Callable
from typing import Any

import pytest

from models.accounts.account import Account
from models.database import UnsureError, write, writing
from models.deliveries import claim
from models.deliveries.attempt import Attempt, Outcome, record_outcomes
from models.deliveries.claim import LEAST_TRIES, ClaimedDelivery, Terms, is_wanted
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import MINUTE_MS, MOST_ON_TRIAL, Webhook, note_slow
from tests import factories
from tests.conftest import Clock

LEASE_MS = 30_000


def _claim(room: int = 100, **terms: Any) -> list[ClaimedDelivery]:
    claim.bring_back(LEAST_TRIES)
    return claim.claim_due(room, Terms(100, LEASE_MS, **terms)).deliveries


def _die(clock: Clock) -> None:
    assert len(_claim()) == 1
    clock.advance(milliseconds=LEASE_MS)


def _fail(delay: float) -> None:
    record_outcomes(map(factories.failure, _claim()), lambda _: delay, 10)


def test_a_poll_says_whether_something_is_due(account: Account, clock: Clock) -> None:
    assert claim.bring_back(LEAST_TRIES) == (False, False)
    factories.deliveries(account, factories.webhook(account))
    assert claim.bring_back(LEAST_TRIES) == (True, False), "it is due"
    _fail(1)
    assert claim.bring_back(LEAST_TRIES) == (False, False)
    clock.advance(seconds=1)
    assert claim.bring_back(LEAST_TRIES) == (True, False), "its wait is over"


def test_what_is_under_way_is_no_suspect(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account))
    for _ in range(2):
        _die(clock)
    assert len(_claim()) == 1
    assert claim.claim_suspect(LEAST_TRIES, LEASE_MS) is None


def test_what_waits_for_its_retry_is_no_suspect(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account))
    _fail(1)
    clock.advance(seconds=1)
    assert claim.claim_suspect(LEAST_TRIES, LEASE_MS) is None


def test_two_ordinary_failures_and_a_death_are_no_suspect(account: Account, clock: Clock) -> None:
    """Workers must have died in another attempt, too, and of this delivery."""
    other, failing = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, other)
    _die(clock)
    with writing():
        other.deactivate()
        Delivery.skip_waiting(other.id)
    factories.deliveries(account, failing)
    for _ in range(2):
        _fail(0)
    _die(clock)
    assert claim.claim_suspect(LEAST_TRIES, LEASE_MS) is None


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_claim_of_a_suspect_whose_commit_had_no_response_is_made_again(
    account: Account, clock: Clock, monkeypatch: pytest.MonkeyPatch, *, is_stored: bool
) -> None:
    """Its last attempt would count as lost, and the delivery as failed, without an attempt."""
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook)
    for _ in range(LEAST_TRIES - 1):
        _die(clock)

    with writing():
        # Of another delivery, with the number of the attempt that is undone.
        other = factories.event(account)
        Delivery.schedule(other, [webhook])
        [untouched] = Delivery.select().where(Delivery.event == other.id)
        done = Outcome(untouched.id, "", clock.at, 0, success=True)
        Attempt.append(done, LEAST_TRIES - 1)
        Delivery.update(state=DeliveryState.DELIVERED, due=False, due_at=None).where(
            Delivery.id == untouched.id
        ).execute()

    def lose(work: Callable[[], object], *keys: str) -> None:
        if is_stored:
            write(work, *keys)
        raise UnsureError("lost", is_silent=False)

    with monkeypatch.context() as lost:
        lost.setattr(claim, "write", lose)
        with pytest.raises(UnsureError):
            claim.claim_suspect(LEAST_TRIES, LEASE_MS)
    assert _claim() == []
    suspect = claim.claim_suspect(LEAST_TRIES, LEASE_MS)
    assert suspect is not None
    assert suspect.attempt_number == LEAST_TRIES
    assert is_wanted(suspect, 0)
    of_suspect = Attempt.select().where(Attempt.delivery == suspect.delivery_id)
    assert sorted(each.number for each in of_suspect) == list(range(1, LEAST_TRIES))
    assert len(Attempt.of(untouched)) == 1


def test_a_failed_delivery_is_never_due_again(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account))
    for _ in range(LEAST_TRIES - 1):
        _die(clock)
    assert claim.claim_suspect(LEAST_TRIES, LEASE_MS) is not None
    clock.advance(milliseconds=LEASE_MS)
    assert _claim() == []
    row = Delivery.get()
    assert (row.state, row.due) == (DeliveryState.FAILED, False)
    assert (row.due_at, row.lease_token) == (None, None)


def test_what_is_due_again_has_no_lease(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account))
    _die(clock)
    claim.bring_back(LEAST_TRIES)
    row = Delivery.get()
    assert (row.due, row.lease_token) == (True, None)


def test_a_claim_of_a_disabled_webhook_is_not_wanted(account: Account) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook)
    [claimed] = _claim()
    assert is_wanted(claimed, 0)
    with writing():
        webhook.deactivate()
    assert not is_wanted(claimed, 0)


def test_each_lane_claims_its_own_webhooks(account: Account) -> None:
    slow, fast = factories.webhook(account), factories.webhook(account)
    with writing():
        note_slow.execute([slow.id])
    factories.deliveries(account, slow, fast)
    assert [one.webhook.id for one in _claim(slow=True)] == [slow.id]
    assert [one.webhook.id for one in _claim()] == [fast.id]


@pytest.mark.parametrize(
    ("elapsed", "has_room"), [(0, False), (MINUTE_MS - 1, False), (MINUTE_MS, True), (-1, True)]
)
def test_a_url_on_trial_without_room_keeps_no_other_waiting(
    account: Account, clock: Clock, elapsed: int, *, has_room: bool
) -> None:
    """In the future its minute began before the clock was set back."""
    tried, healthy = factories.webhook(account), factories.webhook(account)
    factories.deliveries(account, tried)
    clock.advance(milliseconds=1)
    factories.deliveries(account, healthy)
    with writing():
        begun = {"trial_minute_at": clock.at - elapsed, "trial_events": MOST_ON_TRIAL}
        Webhook.update(begun).where(Webhook.id == tried.id).execute()
        # A retry of another webhook is none of its own.
        Delivery.update(tries=1).where(Delivery.webhook == healthy.id).execute()
    expected = tried if has_room else healthy
    assert [one.webhook.id for one in _claim(room=1)] == [expected.id]


def test_a_url_on_trial_without_room_gets_its_retries(account: Account, clock: Clock) -> None:
    tried = factories.webhook(account)
    retried, _ = factories.deliveries(account, tried, count=2)
    with writing():
        begun = {"trial_minute_at": clock.at, "trial_events": MOST_ON_TRIAL}
        Webhook.update(begun).execute()
        Delivery.update(tries=1).where(Delivery.id == retried.id).execute()
    assert [one.delivery_id for one in _claim()] == [retried.id]
