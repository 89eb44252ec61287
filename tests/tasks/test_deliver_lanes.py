"""Slow receivers have their own lane, and leave it after a success (docs/decisions/0010)."""

from collections.abc import Iterator
from itertools import cycle

import pytest

from contract_tests.stored import Stored
from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import SLOW_MS, Outcome, record_outcomes
from models.deliveries.claim import ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook, note_slow
from tasks import deliver
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due
from tests.receiver import Exchange, Receiver, hang
from tests.waiting import until
from webhooks.client import WebhookClient
from webhooks.pace import FIRST, LEAST
from webhooks.schedule import RetrySchedule

LEASE_MS = 30_000

pytestmark = pytest.mark.usefixtures("state")


def _claim(*, slow: bool) -> list[ClaimedDelivery]:
    return claim_due(100, Terms(10, LEASE_MS, slow=slow))


def _outcome(
    claimed: ClaimedDelivery, *, success: bool, timed_out: bool = False, ms: int = 1
) -> Outcome:
    return Outcome(
        delivery_id=claimed.delivery_id,
        lease_token=claimed.lease_token,
        started_at=0,
        duration_ms=ms,
        success=success,
        status_code=200 if success else None,
        error=None if success else "No answer.",
        response_body=None,
        timed_out=timed_out,
    )


def _record(*outcomes: Outcome) -> None:
    record_outcomes(outcomes, lambda _tries: 0.0, deactivate_after=10)


def _time_out(account: Account, webhook: Webhook) -> None:
    factories.deliveries(account, webhook)
    [claimed] = _claim(slow=False)
    _record(_outcome(claimed, success=False, timed_out=True))


def test_a_webhook_that_timed_out_is_claimed_in_the_slow_lane_only(account: Account) -> None:
    hanging, healthy = factories.webhook(account), factories.webhook(account)
    _time_out(account, hanging)
    factories.deliveries(account, healthy)
    assert [c.webhook.id for c in _claim(slow=False)] == [healthy.id]
    assert [c.webhook.id for c in _claim(slow=True)] == [hanging.id]


def test_a_success_brings_a_webhook_back(account: Account) -> None:
    webhook = factories.webhook(account)
    _time_out(account, webhook)
    [claimed] = _claim(slow=True)
    _record(_outcome(claimed, success=True))
    factories.deliveries(account, webhook)
    assert _claim(slow=True) == []
    assert len(_claim(slow=False)) == 1


def test_one_slow_answer_of_several_recorded_together_makes_a_webhook_slow(
    account: Account,
) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook, count=3)
    first, second, third = (
        _outcome(claimed, success=True, ms=ms)
        for claimed, ms in zip(_claim(slow=False), (1, SLOW_MS, 1), strict=True)
    )
    _record(first, second, third)
    assert Webhook.get_by_id(webhook.id).slow


def test_a_refusal_does_not_change_the_lane(account: Account) -> None:
    webhook = factories.webhook(account)
    factories.deliveries(account, webhook)
    [claimed] = _claim(slow=False)
    _record(_outcome(claimed, success=False))
    assert len(_claim(slow=False)) == 1
    slow = factories.webhook(account)
    _time_out(account, slow)
    [claimed] = _claim(slow=True)
    _record(_outcome(claimed, success=False))
    assert len(_claim(slow=True)) == 1


def _engine(timeout: float) -> deliver.Engine:
    client = WebhookClient(timeout=timeout, allow_local=True, user_agent="Gateway/1")
    return deliver.Engine(client, RetrySchedule((60.0,)), timeout, 10)


@pytest.fixture
def engine(state: Stored) -> Iterator[deliver.Engine]:
    """A running engine, on the database of the test."""
    assert state.environment
    running = _engine(timeout=1)
    running.start()
    yield running
    running.stop()


def test_a_receiver_that_hangs_is_probed_by_few_attempts_until_it_answers(
    account: Account, receiver: Receiver, engine: deliver.Engine
) -> None:
    receiver.behave(hang)
    webhook = factories.webhook(account, receiver.url())
    factories.deliveries(account, webhook, count=FIRST)
    engine.wake()
    leased = Delivery.select().where(~Delivery.lease_token.is_null())
    until(lambda: Webhook.get_by_id(webhook.id).slow, "a slow webhook")
    receiver.wait(FIRST)
    until(lambda: not leased.exists(), "the end of all attempts")
    factories.deliveries(account, webhook, count=FIRST)
    engine.wake()
    receiver.wait(FIRST + LEAST)
    assert leased.count() <= LEAST
    receiver.behave(lambda exchange: exchange.reply(200))
    receiver.released.set()
    delivered = Delivery.select().where(Delivery.state == DeliveryState.DELIVERED)
    until(delivered.exists, "a delivery")
    until(lambda: not Webhook.get_by_id(webhook.id).slow, "the way back")


def _delivered() -> int:
    return Delivery.select().where(Delivery.state == DeliveryState.DELIVERED).count()


def test_one_wake_up_delivers_more_than_a_webhook_may_have_in_flight(
    account: Account, receiver: Receiver, engine: deliver.Engine
) -> None:
    webhook = factories.webhook(account, receiver.url())
    count = 3 * FIRST + 1
    factories.deliveries(account, webhook, count=count)
    engine.wake()
    until(lambda: _delivered() == count, "all deliveries")


@pytest.mark.parametrize("accounts", [1, 4])
def test_one_wake_up_delivers_more_than_the_lanes_capacity_next_to_a_hanging_receiver(
    accounts: int, receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of one account, or each of another account without a running attempt."""
    monkeypatch.setattr(deliver, "MAX_IN_FLIGHT", 2)
    monkeypatch.setattr(deliver, "ACCOUNT_PART", 1)
    receiver.behave(hang, "/hanging")
    owners = [Account.open("Acme", "pro") for _ in range(accounts)]
    for path, owner in zip(("/hook", "/hanging", "/hook", "/hook"), cycle(owners), strict=False):
        factories.deliveries(owner, factories.webhook(owner, receiver.url(path)))
        clock.advance(milliseconds=1)
    running = _engine(timeout=60)
    # Its only wake-up.
    running.start()
    until(lambda: _delivered() == 3, "the deliveries to others")
    receiver.released.set()
    running.stop()


def test_waiting_deliveries_of_a_webhook_that_became_slow_need_no_other_wake_up(
    account: Account, receiver: Receiver, engine: deliver.Engine
) -> None:
    """The earlier attempts fill its lower limit until they have timed out."""
    receiver.behave(hang)
    webhook = factories.webhook(account, receiver.url())
    before = FIRST - 1
    factories.deliveries(account, webhook, count=before)
    engine.wake()
    receiver.wait(before)
    with writing():
        note_slow.execute([webhook.id])
    receiver.behave(lambda exchange: exchange.reply(200))
    factories.deliveries(account, webhook)
    engine.wake()
    until(lambda: _delivered() == 1, "the delivery that waited")


def test_a_webhook_at_its_cap_needs_no_other_wake_up(account: Account, receiver: Receiver) -> None:
    """Although a later claim found all that another webhook had."""

    def reply_when_released(exchange: Exchange) -> None:
        exchange.wait_for_release()
        exchange.reply(200)

    receiver.behave(reply_when_released, "/full")
    full, other = (factories.webhook(account, receiver.url(path)) for path in ("/full", "/hook"))
    factories.deliveries(account, full, count=FIRST + 1)
    running = _engine(timeout=60)
    running.start()
    receiver.wait(FIRST, "/full")
    factories.deliveries(account, other)
    running.wake()
    until(lambda: _delivered() == 1, "the delivery to the other webhook")
    receiver.released.set()
    until(lambda: _delivered() == FIRST + 2, "the delivery that waited")
    running.stop()


def test_a_webhook_gets_the_room_that_others_do_not_use(
    account: Account, receiver: Receiver, engine: deliver.Engine
) -> None:
    receiver.behave(hang)
    for _ in range(30):
        factories.deliveries(account, factories.webhook(account, receiver.url()))
    factories.deliveries(account, factories.webhook(account, receiver.url()), count=FIRST)
    # Its only wake-up.
    engine.wake()
    receiver.wait(30 + FIRST)
    receiver.released.set()
