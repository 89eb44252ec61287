"""The most events a second of a webhook (``max_rate``), over all workers."""

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries import claim
from models.deliveries.backlog import Backlog
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery
from models.deliveries.webhook import MINUTE_MS, Webhook
from models.work import NO_LIMIT
from tests import factories
from tests.conftest import Clock

LEASE_MS = 30_000


def _limited(account: Account, max_rate: int | None) -> Webhook:
    webhook = factories.webhook(account)
    with writing():
        webhook.change(max_rate=max_rate)
    return webhook


def _take(webhook: Webhook, now: int, events: int) -> int:
    with writing():
        webhook.note_rate(now, events)
    stored = Webhook.get_by_id(webhook.id)
    assert stored.opens_at == webhook.opens_at
    return stored.rate_room(now)


def _claim(terms: Terms | None = None) -> claim.Claim:
    return claim.claim_due(100, terms or Terms(100, LEASE_MS))


def test_without_a_limit_there_is_room_and_nothing_is_counted(
    account: Account, clock: Clock
) -> None:
    webhook = _limited(account, None)
    assert _take(webhook, clock.at, 1000) == NO_LIMIT
    assert webhook.opens_at is None


@pytest.mark.parametrize(("max_rate", "burst"), [(1, 1), (4, 2), (20, 6), (1000, 251)])
def test_a_quarter_of_a_second_may_start_together(
    account: Account, clock: Clock, max_rate: int, burst: int
) -> None:
    webhook = _limited(account, max_rate)
    assert webhook.rate_room(clock.at) == burst
    assert _take(webhook, clock.at, burst) == 0
    # Time without events is not saved up.
    assert webhook.rate_room(clock.at + MINUTE_MS) == burst


@pytest.mark.parametrize("late_ms", [5, 20, 50, 200])
@pytest.mark.parametrize("max_rate", [1, 7, 15, 300, 1000])
def test_over_seconds_the_rate_holds_also_if_claims_are_late(
    account: Account, clock: Clock, max_rate: int, late_ms: int
) -> None:
    webhook, now, taken = _limited(account, max_rate), clock.at, 0
    burst, end = webhook.rate_room(now), clock.at + 10_000
    while now < end:
        room = webhook.rate_room(now)
        _take(webhook, now, room)
        taken += room
        now += max(1, webhook.opens_in(now) + late_ms)
    # A claim rounds the time of its events up to a millisecond.
    assert 0.9 * 10 * max_rate <= taken <= 10 * max_rate + burst


def test_retries_count_and_delay_new_events_for_at_most_a_minute(
    account: Account, clock: Clock
) -> None:
    webhook = _limited(account, 1)
    assert _take(webhook, clock.at, 3) == 0
    assert webhook.rate_room(clock.at + 2_749) == 0
    assert webhook.rate_room(clock.at + 2_750) == 1
    _take(webhook, clock.at, 500)
    assert webhook.opens_at == clock.at + MINUTE_MS


def test_a_clock_that_was_set_back_delays_no_event(account: Account, clock: Clock) -> None:
    webhook = _limited(account, 1)
    _take(webhook, clock.at, 1)
    clock.advance(hours=-1)
    factories.deliveries(account, webhook)
    assert len(_claim().deliveries) == 1


@pytest.mark.parametrize("change", ["rate", "url", "enabled"])
def test_what_the_account_changes_counts_from_now(
    account: Account, clock: Clock, change: str
) -> None:
    webhook = _limited(account, 1)
    _take(webhook, clock.at, 50)
    with writing():
        if change == "rate":
            webhook.change(max_rate=2)
        elif change == "url":
            webhook.change(url="http://127.0.0.1:9/other")
        else:
            webhook.deactivate()
            webhook.activate()
    assert Webhook.get_by_id(webhook.id).rate_room(clock.at) == 1


def test_a_claim_takes_what_the_rate_allows_and_says_when_it_opens(
    account: Account, clock: Clock
) -> None:
    limited, other = _limited(account, 30), factories.webhook(account)
    factories.deliveries(account, limited, other, count=10)
    first = _claim()
    counts = [d.webhook.id for d in first.deliveries]
    assert (counts.count(limited.id), counts.count(other.id)) == (8, 10)
    [(id_, ms)] = first.opens_in.items()
    assert id_ == limited.id
    assert _claim().deliveries == []
    clock.advance(seconds=(ms - 1) / 1000)
    assert _claim().deliveries == []
    clock.advance(seconds=0.001)
    assert [d.webhook.id for d in _claim().deliveries] == [limited.id]


def test_a_retry_waits_for_no_rate(account: Account, clock: Clock) -> None:
    webhook = _limited(account, 1)
    retry, *_ = factories.deliveries(account, webhook, count=3)
    with writing():
        Delivery.update(tries=1).where(Delivery.id == retry.id).execute()
    _take(webhook, clock.at, 1)
    assert [d.delivery_id for d in _claim().deliveries] == [retry.id]


def test_webhooks_at_their_rate_take_no_turn_of_another(account: Account, clock: Clock) -> None:
    limited = [_limited(account, 1) for _ in range(12)]
    factories.deliveries(account, *limited)
    other = factories.webhook(account)
    clock.advance(seconds=0.001)
    [waiting] = factories.deliveries(account, other)
    for webhook in limited:
        _take(webhook, clock.at, 1)
    assert [d.delivery_id for d in _claim().deliveries] == [waiting.id]


def test_a_backlog_at_the_rate_makes_no_worker_late(account: Account, clock: Clock) -> None:
    webhook = _limited(account, 1)
    factories.deliveries(account, webhook, count=3)
    clock.advance(minutes=10)
    assert (Backlog.read().due, Backlog.read().oldest_due_seconds) == (3, 600)
    _claim()
    # At its end the next claim may still be to come.
    for milliseconds in (0, 900):
        clock.advance(seconds=milliseconds / 1000)
        assert (Backlog.read().pending, Backlog.read().due) == (3, 0)
        assert Backlog.read().oldest_due_seconds == 0
    # No worker claims.
    clock.advance(seconds=2.1)
    assert Backlog.read().oldest_due_seconds == 603
