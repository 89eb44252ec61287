"""The clock is set back or forward by an hour: nothing is stuck, lost or retried without a pause."""

import json
from collections.abc import Callable

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import NO_OUTCOME, Attempt, record_outcomes
from models.deliveries.claim import ClaimedDelivery, Terms
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.event import Event
from models.messages.callback import Callback
from models.numbers.number import Number
from tasks import deliver, ingest, sweep
from tests import factories
from tests.conftest import Clock, Configure
from tests.factories import claim_due
from webhooks.schedule import RetrySchedule

HOUR = 3_600_000
TIMEOUT = 10
LEASE = deliver.lease_ms(TIMEOUT)
DELAYS = (30, 300, 1800)
SCHEDULE = RetrySchedule(DELAYS)
LONGEST = [round(delay * 1000) for delay in SCHEDULE.longest_delays]


def _claim() -> list[ClaimedDelivery]:
    return claim_due(100, Terms(10, LEASE))


def _fail(claimed: list[ClaimedDelivery]) -> None:
    outcomes = [factories.failure(one) for one in claimed]
    record_outcomes(outcomes, SCHEDULE.delay_after, deactivate_after=10)


def _due(delivery: Delivery) -> int:
    at = Delivery.get_by_id(delivery.id).due_at
    assert at is not None
    return at


@pytest.fixture
def delivery(account: Account, clock: Clock, configure: Configure) -> Delivery:
    """A delivery that is due now."""
    assert clock.at
    configure(RETRY_SCHEDULE=",".join(map(str, DELAYS)), DELIVERY_TIMEOUT=str(TIMEOUT))
    (made,) = factories.deliveries(account, factories.webhook(account))
    return made


def test_a_new_delivery_is_due_at_once_after_the_clock_went_back(
    delivery: Delivery, clock: Clock
) -> None:
    clock.at -= HOUR
    assert [one.delivery_id for one in _claim()] == [delivery.id]


def test_the_lease_of_a_dead_worker_ends_in_time_after_the_clock_went_back(
    delivery: Delivery, clock: Clock
) -> None:
    assert _claim()
    clock.at -= HOUR
    sweep.sweep()
    clock.at += LEASE - 1
    sweep.sweep()
    assert _claim() == []
    clock.at += 1
    assert [one.delivery_id for one in _claim()] == [delivery.id]


@pytest.mark.usefixtures("delivery")
def test_an_attempt_under_way_is_recorded_and_not_doubled_when_the_clock_goes_back(
    clock: Clock,
) -> None:
    claimed = _claim()
    clock.at -= HOUR
    sweep.sweep()
    assert _claim() == []
    record_outcomes(map(factories.success, claimed), SCHEDULE.delay_after, deactivate_after=10)
    assert Delivery.get().state == DeliveryState.DELIVERED
    assert Attempt.select().count() == 1


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_a_retry_waits_at_most_its_longest_pause_after_the_clock_went_back(
    delivery: Delivery, clock: Clock, tries: int
) -> None:
    for _ in range(tries):
        clock.at = _due(delivery)
        _fail(_claim())
    clock.at -= HOUR
    sweep.sweep()
    assert _due(delivery) == clock.at + LONGEST[tries - 1]
    sweep.sweep()
    assert _due(delivery) == clock.at + LONGEST[tries - 1], "each sweep puts it off further"
    clock.at = _due(delivery)
    assert len(_claim()) == 1


@pytest.mark.parametrize("tries", [0, 1, 2, 3])
def test_a_correct_clock_changes_no_wait(delivery: Delivery, clock: Clock, tries: int) -> None:
    for _ in range(tries):
        clock.at = _due(delivery)
        _fail(_claim())
    before = _due(delivery)
    sweep.sweep()
    assert _due(delivery) == before


def test_a_delivery_written_in_this_moment_is_left_alone(delivery: Delivery, clock: Clock) -> None:
    before = _due(delivery)
    clock.at -= 5
    sweep.sweep()
    assert _due(delivery) == before


def test_a_shorter_schedule_holds_for_what_waits_already(
    delivery: Delivery, clock: Clock, configure: Configure
) -> None:
    _fail(_claim())
    configure(RETRY_SCHEDULE="1")
    sweep.sweep()
    assert _due(delivery) == clock.at + 1100


def test_after_a_clock_went_forward_one_attempt_is_early_and_the_next_waits_its_pause(
    delivery: Delivery, clock: Clock
) -> None:
    _fail(_claim())
    clock.at += HOUR
    claimed = _claim()
    assert [one.attempt_number for one in claimed] == [2]
    _fail(claimed)
    sweep.sweep()
    assert _claim() == []
    assert _due(delivery) >= clock.at + 0.9 * DELAYS[1] * 1000


@pytest.mark.usefixtures("delivery")
def test_an_attempt_under_way_when_the_clock_goes_forward_is_made_again(clock: Clock) -> None:
    first = _claim()
    clock.at += HOUR
    second = _claim()
    assert [c.delivery_id for c in first] == [c.delivery_id for c in second]
    for claimed in (first, second):
        record_outcomes(map(factories.success, claimed), SCHEDULE.delay_after, deactivate_after=10)
    delivery = Delivery.get()
    assert delivery.state == DeliveryState.DELIVERED
    assert [attempt.error for attempt in Attempt.of(delivery)] == [NO_OUTCOME, None]


@pytest.mark.parametrize(
    "jump", [lambda at: at - HOUR, lambda at: at + HOUR], ids=["back", "forward"]
)
@pytest.mark.usefixtures("number")
def test_a_callback_that_waited_when_the_clock_jumped_is_ingested(
    clock: Clock, jump: Callable[[int], int]
) -> None:
    body = {"messages": [{"id": "wamid.IN", "from": "1555", "type": "text"}]}
    value = {"metadata": {"phone_number_id": "1001"}, **body}
    changes = [{"field": "messages", "value": value}]
    Callback.store(json.dumps({"entry": [{"changes": changes}]}).encode())
    clock.at = jump(clock.at)
    ingest.work_off()
    assert [event.kind for event in Event.select()] == ["message.received"]


def test_a_send_that_died_before_the_clock_went_back_is_settled_by_its_status(
    number: Number, clock: Clock
) -> None:
    message = factories.outbound(number)
    clock.at -= HOUR
    sweep.sweep()
    clock.advance(hours=1, minutes=2)
    sweep.sweep()
    with writing():
        assert type(message).get_by_id(message.id).status == "unknown"
