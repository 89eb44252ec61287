"""Bulk redelivery: the deliveries that a call selects, and their scheduling in batches."""

import sqlite3

import pytest

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.database import database, writing
from models.deliveries import bulk_redelivery
from models.deliveries.attempt import record_outcomes
from models.deliveries.bulk_redelivery import Redelivery
from models.deliveries.claim import Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due
from tests.refusing import refusing

DELIVERED, FAILED = DeliveryState.DELIVERED, DeliveryState.FAILED
PENDING, SKIPPED = DeliveryState.PENDING, DeliveryState.SKIPPED
UNDELIVERED = (FAILED, SKIPPED)
AHEAD_MS = 3_000
# All at once.
FAST = 1_000_000


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_redelivery, "BATCH_SIZE", 2)


@pytest.fixture
def webhook(account: Account) -> Webhook:
    """An active webhook."""
    return factories.webhook(account)


def _states(webhook: Webhook) -> list[str]:
    query = Delivery.select().where(Delivery.webhook == webhook.id).order_by(Delivery.id)
    return [delivery.state for delivery in query]


def _finish_all(*, success: bool = False) -> None:
    claimed = claim_due(100, Terms(100, 1000))
    finish = factories.success if success else factories.failure
    record_outcomes(map(finish, claimed), lambda _: None, 1000)


def _failed(account: Account, webhook: Webhook, count: int) -> list[str]:
    made = factories.deliveries(account, webhook, count=count)
    _finish_all()
    return [delivery.id for delivery in made]


def _request(webhook: Webhook, **which: int) -> list[str]:
    return Redelivery.request(
        webhook.id, states=UNDELIVERED, since=which.get("since"), until=which.get("until")
    )


def _part(webhook: Webhook, rate: int = FAST) -> int | None:
    return Redelivery.schedule_part(webhook.id, rate, AHEAD_MS)


def _work_off_all() -> int:
    total = 0
    for webhook_id in Redelivery.webhook_ids():
        while (count := Redelivery.schedule_part(webhook_id, FAST, AHEAD_MS)) is not None:
            total += count
    return total


@pytest.mark.parametrize(
    ("states", "since", "until", "expected"),
    [
        ([FAILED, SKIPPED], None, None, 5),
        ([FAILED], None, None, 3),
        ([SKIPPED], None, None, 2),
        ([FAILED, SKIPPED], 1, None, 4),
        ([FAILED, SKIPPED], None, 1, 1),
        ([FAILED, SKIPPED], 1, 2, 1),
        ([FAILED], 9, None, 0),
    ],
)
def test_many_are_redelivered_by_state_and_time(
    account: Account,
    webhook: Webhook,
    clock: Clock,
    states: list[str],
    since: int | None,
    until: int | None,
    expected: int,
) -> None:
    start, other = clock.at, factories.webhook(account)
    for _ in range(3):  # failed at 0, 1 and 2 seconds
        factories.deliveries(account, webhook, other)
        _finish_all()
        clock.advance(seconds=1)
    with writing():
        webhook.deactivate()
    factories.deliveries(account, webhook, count=2)  # skipped at 3 seconds
    with writing():
        webhook.activate()
    chosen = Redelivery.request(
        webhook.id,
        states=states,
        since=None if since is None else start + since * 1000,
        until=None if until is None else start + until * 1000,
    )
    assert _states(webhook).count(PENDING) == 0, "that is the worker's"
    assert (len(chosen), _work_off_all()) == (expected, expected)
    assert _states(webhook).count(PENDING) == expected
    assert _states(other) == [FAILED] * 3


def test_a_call_takes_the_oldest_up_to_its_limit(
    account: Account, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_redelivery, "MAX_REDELIVERIES", 3)
    _failed(account, webhook, 5)
    assert (len(_request(webhook)), _work_off_all()) == (3, 3)
    assert _states(webhook) == [PENDING] * 3 + [FAILED] * 2


def test_batches_come_oldest_first_and_each_is_a_transaction(
    account: Account, webhook: Webhook
) -> None:
    _failed(account, webhook, 5)
    _request(webhook)
    seen = []
    while _part(webhook) is not None:
        seen.append(_states(webhook).count(PENDING))
        assert _states(webhook) == [PENDING] * seen[-1] + [FAILED] * (5 - seen[-1])
    assert seen == [2, 4, 5]


@pytest.mark.parametrize(("table", "event"), [("delivery", "UPDATE"), ("redelivery", "DELETE")])
def test_an_interrupted_batch_is_rolled_back_and_done_once_later(
    account: Account, webhook: Webhook, table: str, event: str
) -> None:
    _failed(account, webhook, 5)
    _request(webhook)
    _part(webhook)
    with refusing(event, table), pytest.raises(Exception, match="refused"):
        _part(webhook)
    assert _states(webhook).count(PENDING) == 2
    assert _work_off_all() == 3
    assert _states(webhook) == [PENDING] * 5
    assert len(claim_due(100, Terms(100, 1000))) == 5


def test_nothing_is_written_until_all_of_a_call_is(account: Account, webhook: Webhook) -> None:
    _failed(account, webhook, 3)
    second = "EXISTS (SELECT 1 FROM redelivery)"
    with refusing("INSERT", "redelivery", second), pytest.raises(Exception, match="refused"):
        _request(webhook)
    assert Redelivery.webhook_ids() == []


def test_a_delivery_that_fails_again_during_a_call_is_scheduled_once(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    _failed(account, webhook, 4)
    _request(webhook)
    _part(webhook)
    _finish_all()
    clock.advance(hours=-1)  # Nor when the clock is set back.
    assert _work_off_all() == 2
    _finish_all()
    assert [d.attempt_count for d in Delivery.select()] == [2] * 4
    assert _part(webhook) is None


def test_a_delivery_that_fails_after_the_call_is_not_included(
    account: Account, webhook: Webhook
) -> None:
    [waiting] = factories.deliveries(account, webhook)
    [claimed] = claim_due(1, Terms(1, 1000))
    younger = _failed(account, webhook, 3)
    chosen = _request(webhook)
    record_outcomes([factories.failure(claimed)], lambda _: None, 1000)
    assert chosen == younger
    assert _work_off_all() == 3
    assert Delivery.get_by_id(waiting.id).state == FAILED


def test_a_delivery_that_was_redelivered_separately_is_not_scheduled(
    account: Account, webhook: Webhook
) -> None:
    first, second, third = _failed(account, webhook, 3)
    _request(webhook)
    for delivery_id in (first, second):
        Delivery.get_by_id(delivery_id).redeliver()
    [claimed] = claim_due(1, Terms(1, 1000))
    assert claimed.delivery_id == first
    assert _work_off_all() == 1, "one is under way, one waits already"
    record_outcomes([factories.success(claimed)], lambda _: None, 1000)
    assert _states(webhook) == [DELIVERED, PENDING, PENDING]
    assert {c.delivery_id for c in claim_due(9, Terms(9, 1000))} == {second, third}


def test_two_workers_share_the_batches_and_double_nothing(
    account: Account, webhook: Webhook
) -> None:
    _failed(account, webhook, 9)
    _request(webhook)
    assert sum(factories.at_once(_work_off_all, _work_off_all)) == 9
    assert _states(webhook) == [PENDING] * 9


def test_a_webhook_disabled_in_the_meantime_gets_nothing(
    account: Account, webhook: Webhook
) -> None:
    _failed(account, webhook, 4)
    _request(webhook)
    _part(webhook)
    with writing():
        webhook.deactivate()
        Delivery.skip_waiting(webhook.id)
    assert _work_off_all() == 0
    assert _states(webhook) == [SKIPPED, SKIPPED, FAILED, FAILED]


def test_a_deleted_webhook_gets_nothing_more(account: Account, webhook: Webhook) -> None:
    other = factories.webhook(account)
    factories.deliveries(account, webhook, other, count=3)
    _finish_all()
    _request(webhook)
    _request(other)
    with writing():
        webhook.mark_deleted()
    assert _request(webhook) == []
    assert _work_off_all() == 3
    assert _states(webhook) == [FAILED] * 3
    assert _states(other) == [PENDING] * 3


def _seconds(webhook: Webhook, clock: Clock) -> list[float]:
    """The seconds until each rescheduled delivery is due."""
    rows = Delivery.select().where(Delivery.webhook == webhook.id, Delivery.state == PENDING)
    return sorted(((row.due_at or 0) - clock.at) / 1000 for row in rows)


def test_a_webhook_gets_its_rate_and_all_its_calls_share_it(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    other = factories.webhook(account)
    for row, count in ((webhook, 3), (webhook, 5), (other, 2)):
        _failed(account, row, count)
        _request(row)
    assert [_part(webhook, 2) for _ in range(4)] == [2, 1, 2, None], "three seconds are full"
    assert _seconds(webhook, clock) == [1, 1, 1.5, 2.5, 2.5]
    assert [_part(other, 2), _part(other, 2)] == [2, None]
    assert _seconds(other, clock) == [1, 1]
    clock.advance(milliseconds=600)
    assert [_part(webhook, 2), _part(webhook, 2)] == [2, None]
    assert _seconds(webhook, clock) == [0.4, 0.4, 0.9, 1.9, 1.9, 2.9, 2.9]


def test_no_burst_follows_when_no_worker_ran_for_a_while(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    _failed(account, webhook, 9)
    _request(webhook)
    assert [_part(webhook, 2), _part(webhook, 2)] == [2, 2]
    clock.advance(hours=1)
    assert _part(webhook, 2) is None, "four are late already"
    _finish_all(success=True)
    assert [_part(webhook, 2), _part(webhook, 2)] == [2, 2]
    assert _seconds(webhook, clock) == [1, 1, 2, 2]


def test_a_webhook_with_a_backlog_gets_no_more_redeliveries(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    """Otherwise late deliveries would all be sent at once when the receiver responds again."""
    _failed(account, webhook, 4)
    [late] = factories.deliveries(account, webhook)
    _request(webhook)
    clock.advance(milliseconds=bulk_redelivery.BEHIND_MS)
    assert _part(webhook, 2) == 2
    clock.advance(milliseconds=1)
    assert _part(webhook, 2) is None
    [claimed] = claim_due(1, Terms(1, 100_000))
    assert claimed.delivery_id == late.id
    assert _part(webhook, 2) == 2


def test_a_retry_takes_no_place_of_a_redelivery(
    account: Account, webhook: Webhook, clock: Clock
) -> None:
    factories.deliveries(account, webhook)
    record_outcomes(map(factories.failure, claim_due(1, Terms(1, 1000))), lambda _: 2, 1000)
    _failed(account, webhook, 2)
    _request(webhook)
    assert _part(webhook, 2) == 2
    assert _seconds(webhook, clock) == [1, 1, 2]


def test_a_call_skips_deliveries_of_an_unfinished_call(account: Account, webhook: Webhook) -> None:
    ids = _failed(account, webhook, 3)
    assert [_request(webhook) for _ in range(2)] == [ids, []]
    ids = _failed(account, webhook, 2)
    assert _request(webhook) == ids
    assert _work_off_all() == 5
    _finish_all()
    assert len(_request(webhook)) == 5


def test_a_redelivery_holds_no_other_webhook_back(account: Account, webhook: Webhook) -> None:
    """A new event of another webhook is in the next claim, however many deliveries wait for this one."""
    _failed(account, webhook, 50)
    _request(webhook)
    _work_off_all()
    other = factories.webhook(account)
    [new] = factories.deliveries(account, other)
    claimed = claim_due(20, Terms(10, 1000))
    assert len(claimed) == 11
    assert new.id in {c.delivery_id for c in claimed}


def _waiting(webhook: Webhook, ids: list[str]) -> list[str]:
    return Redelivery.before_first_attempt(webhook.id, ids)


def test_deliveries_without_an_attempt_are_recognized(account: Account, webhook: Webhook) -> None:
    ids = _failed(account, webhook, 3)
    _request(webhook)
    factories.deliveries(account, webhook)
    assert _waiting(webhook, ids) == ids
    _part(webhook)
    assert _waiting(webhook, ids) == ids, "two are scheduled"
    claimed = claim_due(100, Terms(100, 1000))
    assert _waiting(webhook, ids) == ids, "two are under way"
    record_outcomes(map(factories.failure, claimed), lambda _: 60, 1000)
    assert _waiting(webhook, ids) == ids[2:], "a retry is not the first attempt"
    _work_off_all()
    _finish_all(success=True)
    assert _waiting(webhook, ids) == []
    assert Redelivery.states(ids) == {PENDING: 2, DELIVERED: 1}


@pytest.mark.sqlite("the words of its query plans")
def test_redeliveries_are_chosen_by_an_index(
    account: Account, webhook: Webhook, state: Stored
) -> None:
    """In index order, so ten thousand are found without a sort."""
    _failed(account, webhook, 1)
    statements: list[str] = []
    connection: sqlite3.Connection = database.connection()
    connection.set_trace_callback(statements.append)
    Redelivery.request(webhook.id, states=UNDELIVERED, since=1, until=2)
    connection.set_trace_callback(None)
    [chosen] = [s for s in statements if s.startswith("SELECT") and "LIMIT 10000" in s]
    with sqlite3.connect(state.database_path) as reader:
        plan = [row[3] for row in reader.execute(f"EXPLAIN QUERY PLAN {chosen}")]
    reader.close()
    [step] = plan
    assert step.startswith("SEARCH")
    assert "(webhook_id=? AND id>? AND id<?)" in step
