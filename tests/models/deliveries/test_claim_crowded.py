"""What a claim says about the deliveries that it left, and how it counts events on trial."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries import claim
from models.deliveries.attempt import Attempt
from models.deliveries.claim import LEAST_TRIES, Allowed, Claim, Terms
from models.deliveries.delivery import Delivery
from models.deliveries.outgoing import Outgoing
from models.deliveries.webhook import Webhook
from tests import factories
from tests.conftest import Clock

LEASE_MS = 30_000


def _claim(
    room: int = 100, per_webhook: int = 100, paces: dict[str, Allowed] | None = None
) -> Claim:
    return claim.claim_due(room, Terms(per_webhook, LEASE_MS, paces=paces or {}))


def _said(made: Claim) -> tuple[int, set[str], bool]:
    return len(made.deliveries), made.crowded, made.more


def test_a_claim_says_which_accounts_may_have_more_due(account: Account) -> None:
    factories.deliveries(account, factories.webhook(account), count=3)
    assert _said(_claim(room=2)) == (2, {account.id}, True)
    assert _said(_claim(room=2)) == (1, set(), False)
    assert _said(_claim(room=2)) == (0, set(), False)


def test_an_account_at_its_cap_is_crowded_but_no_other_claim_would_help(account: Account) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=2)
    assert len(_claim(per_webhook=1).deliveries) == 1
    full = {webhook.id: Allowed(0, 0)}
    assert _said(_claim(paces=full)) == (0, {account.id}, False)
    other = Account.open("Other", "pro")
    factories.deliveries(other, factories.webhook(other), count=2)
    assert _said(_claim(per_webhook=1, paces=full)) == (1, {account.id, other.id}, True)


def test_an_account_with_its_part_in_flight_keeps_no_other_waiting(
    account: Account, clock: Clock
) -> None:
    factories.deliveries(account, factories.webhook(account))
    clock.advance(seconds=1)
    other = Account.open("Other", "pro")
    factories.deliveries(other, factories.webhook(other))
    terms = Terms(100, LEASE_MS, per_account=5, in_flight={account.id: 5})
    [claimed] = claim.claim_due(1, terms).deliveries
    assert claimed.webhook.account_id == other.id


@pytest.mark.parametrize(("seconds", "is_over"), [(5, False), (15, True)])
def test_attempts_in_flight_are_turns_of_their_account(
    account: Account, clock: Clock, seconds: int, *, is_over: bool
) -> None:
    """An attempt is over 20 s before its lease ends."""
    other = Account.open("Other", "pro")
    factories.deliveries(account, factories.webhook(account), count=2)
    clock.advance(seconds=1)
    factories.deliveries(other, factories.webhook(other), count=2)
    assert [each.webhook.account_id for each in _claim(1).deliveries] == [account.id]
    clock.advance(seconds=seconds)
    next_one = account if is_over else other
    assert [each.webhook.account_id for each in _claim(1).deliveries] == [next_one.id]


def test_new_events_of_a_url_on_trial_are_counted_as_they_are_claimed(account: Account) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=3)
    with writing():
        Webhook.update(trial_minute_at=0).execute()
    assert len(_claim().deliveries) == 3
    assert Webhook.get_by_id(webhook.id).trial_events == Outgoing.get().trial == 3


def test_a_lost_attempt_took_no_time_that_is_known(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account))
    _claim()
    clock.advance(milliseconds=LEASE_MS)
    claim.bring_back(LEAST_TRIES)
    [lost] = Attempt.of(Delivery.get())
    assert (lost.duration_ms, lost.started_at) == (0, clock.at)
