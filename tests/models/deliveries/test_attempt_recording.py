"""Recording outcomes: retries, discarded events, deactivation."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from models.accounts.account import Account
from models.accounts.audit import Audit
from models.database import writing
from models.deliveries.attempt import NO_OUTCOME, Attempt, Outcome, record_outcomes
from models.deliveries.claim import ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Deactivation, Webhook
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due

LEASE_MS = 30_000
DELAYS = (30.0, 300.0, 1800.0)
PENDING, DELIVERED, FAILED, SKIPPED = (
    DeliveryState.PENDING,
    DeliveryState.DELIVERED,
    DeliveryState.FAILED,
    DeliveryState.SKIPPED,
)


def _delay_after(tries: int) -> float | None:
    return DELAYS[tries - 1] if tries <= len(DELAYS) else None


def _no_retry(_tries: int) -> float | None:
    return None


def _claim(room: int = 100) -> list[ClaimedDelivery]:
    return claim_due(room, Terms(100, LEASE_MS))


def _fail(
    claimed: list[ClaimedDelivery],
    retry: Callable[[int], float | None] = _delay_after,
    deactivate_after: int = 10,
) -> dict[str, int]:
    return record_outcomes(map(factories.failure, claimed), retry, deactivate_after)


def _succeed(claimed: list[ClaimedDelivery]) -> dict[str, int]:
    return record_outcomes(map(factories.success, claimed), _delay_after, 10)


def _stored(delivery: Delivery) -> Delivery:
    return Delivery.get_by_id(delivery.id)


def _discard(account: Account, webhook: Webhook, count: int, deactivate_after: int = 10) -> None:
    """Let ``count`` events in a row fail after all their retries."""
    for _ in range(count):
        factories.deliveries(account, webhook)
        _fail(_claim(), _no_retry, deactivate_after)


@pytest.fixture
def webhook(account: Account) -> Webhook:
    return factories.webhook(account)


def test_a_2xx_delivers(account: Account, webhook: Webhook, clock: Clock) -> None:
    [delivery] = factories.deliveries(account, webhook)
    claimed = _claim()
    clock.advance(milliseconds=7)
    assert _succeed(claimed) == {DELIVERED: 1}
    stored = _stored(delivery)
    assert (stored.state, stored.completed_at) == (DELIVERED, clock.at)
    assert (stored.due_at, stored.lease_token) == (None, None)
    [attempt] = Attempt.of(delivery)
    assert (attempt.number, attempt.success, attempt.status_code) == (1, True, 200)


def test_retries_follow_the_schedule_and_the_fourth_failure_is_the_last(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    [delivery] = factories.deliveries(account, webhook)
    for seconds in DELAYS:
        assert _fail(_claim()) == {PENDING: 1}
        stored = _stored(delivery)
        assert (stored.state, stored.due_at) == (PENDING, clock.at + seconds * 1000)
        clock.advance(seconds=seconds, milliseconds=-1)
        assert _claim() == []
        clock.advance(milliseconds=1)
    assert _fail(_claim()) == {FAILED: 1}
    stored = _stored(delivery)
    assert (stored.state, stored.attempt_count) == (FAILED, 4)
    assert (stored.due_at, stored.completed_at) == (None, clock.at)
    assert [attempt.number for attempt in Attempt.of(delivery)] == [1, 2, 3, 4]
    clock.advance(days=1)
    assert _claim() == []


def test_a_retry_that_succeeds_delivers(account: Account, webhook: Webhook, clock: Clock) -> None:
    [delivery] = factories.deliveries(account, webhook)
    _fail(_claim())
    clock.advance(seconds=30)
    _succeed(_claim())
    assert (_stored(delivery).state, _stored(delivery).attempt_count) == (DELIVERED, 2)


def test_an_outcome_with_a_stale_token_is_dropped(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    [delivery] = factories.deliveries(account, webhook)
    late = _claim()
    clock.advance(milliseconds=LEASE_MS)
    current = _claim()
    assert _succeed(late) == {}
    assert _stored(delivery).state == PENDING
    assert [attempt.error for attempt in Attempt.of(delivery)] == [NO_OUTCOME]
    _fail(current)
    assert _stored(delivery).attempt_count == 2
    _succeed(current)
    assert _stored(delivery).state == PENDING, "an outcome is recorded once"


def test_an_outcome_of_a_deleted_webhook_is_dropped(account: Account, webhook: Webhook) -> None:
    factories.deliveries(account, webhook)
    claimed = _claim()
    with writing():
        webhook.delete_instance()
    assert _fail(claimed) == {}
    assert Attempt.select().count() == 0


def test_failed_attempts_that_are_retried_do_not_count_against_the_webhook(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    factories.deliveries(account, webhook, count=12)
    for seconds in DELAYS:
        _fail(_claim())
        clock.advance(seconds=seconds)
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.failure_count, stored.active) == (0, True)


def test_ten_discarded_events_in_a_row_disable_the_webhook_and_skip_its_deliveries(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    other = factories.webhook(account)
    _discard(account, webhook, 9)
    assert Webhook.get_by_id(webhook.id).active
    waiting = factories.deliveries(account, webhook, count=3)
    others = factories.deliveries(account, other)
    _fail(_claim(room=1), _no_retry)
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.active, stored.deactivated_at) == (False, clock.at)
    assert sorted(_stored(row).state for row in waiting) == [FAILED, SKIPPED, SKIPPED]
    assert _stored(others[0]).state == PENDING
    assert [one.webhook.id for one in _claim()] == [other.id]


def test_events_discarded_in_one_batch_count_one_by_one(account: Account, webhook: Webhook) -> None:
    made = factories.deliveries(account, webhook, count=10)
    _fail(_claim(), _no_retry, deactivate_after=9)
    assert not Webhook.get_by_id(webhook.id).active
    assert {_stored(row).state for row in made} == {FAILED}
    [row] = Audit.all(account.id)
    assert (row.action, row.subject) == ("webhook.disabled", webhook.id)
    assert row.after == {"because": Deactivation.FAILURES}


def test_a_response_that_disables_the_webhook_skips_what_waits(
    account: Account, webhook: Webhook
) -> None:
    factories.deliveries(account, webhook, count=3)
    [first] = _claim(room=1)
    gone = replace(factories.failure(first), status_code=410, is_end=True)
    record_outcomes([gone], _delay_after, 10)
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.active, stored.deactivated_because) == (False, Deactivation.GONE)
    assert [row.state for row in Delivery.select()] == [SKIPPED] * 3
    [row] = Audit.all(account.id)
    assert (row.action, row.after) == ("webhook.disabled", {"because": Deactivation.GONE})


def test_any_2xx_resets_the_count(account: Account, webhook: Webhook) -> None:
    _discard(account, webhook, 9)
    factories.deliveries(account, webhook)
    _succeed(_claim())
    _discard(account, webhook, 9)
    assert Webhook.get_by_id(webhook.id).active
    _discard(account, webhook, 1)
    assert not Webhook.get_by_id(webhook.id).active


def test_webhooks_are_counted_apart(account: Account, webhook: Webhook) -> None:
    other = factories.webhook(account)
    _discard(account, webhook, 2, deactivate_after=3)
    _discard(account, other, 1, deactivate_after=3)
    assert Webhook.get_by_id(webhook.id).active
    _discard(account, webhook, 1, deactivate_after=3)
    assert not Webhook.get_by_id(webhook.id).active
    assert Webhook.get_by_id(other.id).active


def test_an_attempt_under_way_at_the_deactivation_is_not_retried(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    [failing, succeeding] = factories.deliveries(account, webhook, count=2)
    claimed = {one.delivery_id: one for one in _claim()}
    with writing():
        webhook.deactivate()
        Delivery.skip_waiting(webhook.id)
    assert _fail([claimed[failing.id]]) == {SKIPPED: 1}
    _succeed([claimed[succeeding.id]])
    stored = _stored(failing)
    assert (stored.state, stored.due_at) == (SKIPPED, None)
    assert stored.completed_at == clock.at
    assert _stored(succeeding).state == DELIVERED


def test_a_webhook_that_was_activated_again_counts_from_zero(
    account: Account, webhook: Webhook
) -> None:
    _discard(account, webhook, 2, deactivate_after=2)
    stored = Webhook.get_by_id(webhook.id)
    with writing():
        stored.activate()
    _discard(account, webhook, 1, deactivate_after=2)
    assert Webhook.get_by_id(webhook.id).active


def test_outcomes_recorded_together_are_all_or_nothing(account: Account, webhook: Webhook) -> None:
    made = factories.deliveries(account, webhook, count=2)

    def break_down(_tries: int) -> float | None:
        raise ArithmeticError

    good, bad = _claim()
    with pytest.raises(ArithmeticError):
        record_outcomes([factories.success(good), factories.failure(bad)], break_down, 10)
    assert {_stored(row).state for row in made} == {PENDING}
    assert Attempt.select().count() == 0


def test_a_delivery_with_an_expired_lease_is_skipped_at_the_deactivation(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    [delivery] = factories.deliveries(account, webhook)
    claimed = _claim()
    clock.advance(milliseconds=LEASE_MS)
    with writing():
        Delivery.skip_waiting(webhook.id)
    assert _stored(delivery).state == SKIPPED
    assert _claim() == []
    _succeed(claimed)
    assert _stored(delivery).state == SKIPPED


def _record(*outcomes: Outcome) -> None:
    record_outcomes(outcomes, _delay_after, 10)


def test_the_longest_rest_of_a_batch_counts(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    factories.deliveries(account, webhook, count=3)
    failures = map(factories.failure, _claim())
    _record(
        *(replace(each, rest_ms=ms) for each, ms in zip(failures, (0, 2_000, 1_000), strict=True))
    )
    assert Webhook.get_by_id(webhook.id).rest_ends_at(clock.at) == clock.at + 2_000


def test_a_2xx_to_a_retry_ends_a_rest_unless_another_one_is_refused(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    with writing():
        Webhook.rest(webhook.id, clock.at + 9_000)
    factories.deliveries(account, webhook, count=3)
    with writing():
        Delivery.update(tries=1).execute()
    plain, ending, refused = _claim()
    _record(factories.success(plain))
    assert Webhook.get_by_id(webhook.id).rests_until == clock.at + 9_000, "it began before the rest"
    end, again = replace(factories.success(ending), ends_rest=True), factories.failure(refused)
    _record(end, replace(again, rest_ms=1_000))
    assert Webhook.get_by_id(webhook.id).rests_until == clock.at + 1_000
    factories.deliveries(account, webhook)
    clock.advance(seconds=1)
    [new] = _claim()
    _record(replace(factories.success(new), ends_rest=True))
    assert Webhook.get_by_id(webhook.id).rests_until is None
