"""Activity of an account: messages by status and attempts by outcome, in the steps of each span."""

from collections.abc import Mapping

import pytest

from gateway.settings import get_settings
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import (
    BUCKETS,
    NARROW,
    WIDE,
    AttemptTotal,
    Outcome,
    bucket_of,
    record_outcomes,
)
from models.deliveries.claim import Terms
from models.deliveries.webhook import Webhook
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from models.reports.activity import SPANS, Attempts, attempts, messages, total
from models.reports.tally import MessageHour
from tasks import retention
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due


def _send(number: Number, *steps: MessageStatus) -> None:
    message = factories.outbound(number)
    with writing():
        for status in steps:
            message.advance(status, at=1)


def _attempt(account: Account, webhook: Webhook, *, succeeds: bool, is_last: bool = False) -> None:
    factories.deliveries(account, webhook)
    outcome = factories.success if succeeds else factories.failure
    delay = None if is_last else 10_000.0
    record_outcomes(map(outcome, claim_due(10, Terms(10, 1_000))), lambda _: delay, 99)


def _counted(account: Account, name: str, now: int) -> list[Mapping[str, int]]:
    return [
        {status: count for status, count in step.items() if count}
        for step in messages(account.id, SPANS[name], now)
    ]


def test_a_message_counts_in_the_step_of_its_creation_with_its_status_now(
    clock: Clock, account: Account, number: Number
) -> None:
    _send(number, MessageStatus.SENT, MessageStatus.READ)
    clock.advance(minutes=10)
    _send(number, MessageStatus.FAILED)
    factories.inbound(number)
    last = clock.advance(minutes=30)
    found = _counted(account, "1h", last)
    assert found[-9:] == [{"read": 1}, {}, {"failed": 1, "received": 1}, *[{}] * 6]
    assert _counted(account, "24h", last)[-2:] == [{"read": 1, "failed": 1, "received": 1}, {}]
    for name in ("7d", "30d"):
        assert _counted(account, name, last)[-1] == {"read": 1, "failed": 1, "received": 1}


@pytest.mark.parametrize("name", SPANS)
def test_a_span_ends_with_the_current_step_and_excludes_older_ones(
    clock: Clock, account: Account, number: Number, name: str
) -> None:
    span = SPANS[name]
    starts = span.starts(clock.at)
    assert len(starts) == span.count
    assert starts[-1] <= clock.at < starts[-1] + span.step
    assert all(start % span.step == 0 for start in starts)
    _send(number)
    later = clock.at + span.step * span.count
    assert not any(_counted(account, name, later))
    assert any(_counted(account, name, later - span.step))


def test_another_account_does_not_count(clock: Clock, account: Account, number: Number) -> None:
    _send(number)
    _attempt(account, factories.webhook(account), succeeds=True)
    other = Account.open("Other", "pro")
    webhook = factories.webhook(other)
    assert not any(_counted(other, "24h", clock.at))
    assert total(attempts([webhook.id], SPANS["24h"], clock.at)).count == 0
    assert total(attempts([], SPANS["24h"], clock.at)).count == 0


def test_totals_by_the_hour_follow_the_messages_until_they_are_removed(
    clock: Clock, account: Account, number: Number
) -> None:
    _send(number, MessageStatus.SENT)
    _send(number, MessageStatus.SENT, MessageStatus.DELIVERED, MessageStatus.READ)
    assert _counted(account, "24h", clock.at)[-1] == {"sent": 1, "read": 1}
    with writing():
        Message.delete().where(Message.status == "read").execute()
    assert _counted(account, "24h", clock.at)[-1] == {"sent": 1}


def test_attempts_are_counted_by_their_end(clock: Clock, account: Account) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account, "http://127.0.0.1:9/b")
    _attempt(account, webhook, succeeds=True)
    _attempt(account, other, succeeds=False)
    clock.advance(minutes=10)
    _attempt(account, webhook, succeeds=False, is_last=True)
    hour = attempts([webhook.id, other.id], SPANS["1h"], clock.at)
    ends = [(step.delivered, step.retried, step.failed) for step in hour]
    assert ends[-3:] == [(1, 1, 0), (0, 0, 0), (0, 0, 1)]
    for name in ("24h", "7d", "30d"):
        last = attempts([webhook.id, other.id], SPANS[name], clock.at)[-1]
        assert (last.delivered, last.retried, last.failed) == (1, 1, 1)
    assert attempts([other.id], SPANS["24h"], clock.at)[-1].retried == 1


def test_a_latency_is_estimated_from_its_bucket() -> None:
    for took in (1, 7, 60, 350, 2_900, 10_000):
        counts = [0] * len(BUCKETS)
        counts[BUCKETS.index(bucket_of(took))] = 10
        median, slow = (Attempts(10, buckets=counts).took(share) for share in (0.5, 0.95))
        assert median is not None
        assert slow is not None
        assert abs(median - took) <= 0.2 * took
        assert median < slow <= 1.42 * took
    assert Attempts().took(0.5) is None
    assert Attempts(retried=3, buckets=[0] * len(BUCKETS)).took(0.5) is None


def test_half_the_answers_are_not_slower_than_the_median() -> None:
    counts = [0] * len(BUCKETS)
    for took in (5, 5, 5, 900):
        counts[BUCKETS.index(bucket_of(took))] += 1
    found = Attempts(4, buckets=counts)
    median, slow = found.took(0.5), found.took(0.95)
    assert median is not None
    assert slow is not None
    assert median < 8
    assert 720 < slow < 1_100


def test_a_timeout_has_a_latency_and_a_refused_connection_has_none(
    clock: Clock, account: Account
) -> None:
    webhook = factories.webhook(account)
    refused = Outcome("dlv_1", "token", clock.at, 3, success=False)
    late = Outcome("dlv_2", "token", clock.at, 10_000, success=False, timed_out=True)
    with writing():
        AttemptTotal.add([(webhook.id, refused, "retried")], clock.at)
    assert total(attempts([webhook.id], SPANS["1h"], clock.at)).took(0.5) is None
    with writing():
        AttemptTotal.add([(webhook.id, late, "retried")], clock.at)
    found = total(attempts([webhook.id], SPANS["1h"], clock.at))
    assert found.retried == 2
    assert (found.took(0.5) or 0) > 8_000


def test_retention_removes_totals_by_time(clock: Clock, account: Account, number: Number) -> None:
    webhook = factories.webhook(account)
    _send(number)
    _attempt(account, webhook, succeeds=True)
    clock.advance(hours=3)
    retention.remove_old()
    assert _widths() == [WIDE], "the narrow ones are of the last hours"
    clock.advance(days=get_settings().retention_days + 2)
    retention.remove_old()
    assert _widths() == []
    assert not MessageHour.select().exists()


def _widths() -> list[int]:
    return [row.width for row in AttemptTotal.select()]


def test_both_widths_are_counted(clock: Clock, account: Account) -> None:
    _attempt(account, factories.webhook(account), succeeds=True)
    assert sorted(_widths()) == [NARROW, WIDE]
    assert all(row.start == clock.at - clock.at % row.width for row in AttemptTotal.select())
