"""The pace of a number: one rate for all workers, which halves and recovers."""

import pytest

from models import clock
from models.database import writing
from models.numbers.pace import Pace, Reserved
from tests import factories
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state", "clock")


def _rate() -> float:
    return 1 / Pace.reserve("num_1", 1, 80).interval


def _wait(key: str, count: int, highest: float = 80, lead: float = 0) -> float:
    """The seconds until the first of new places."""
    return (Pace.reserve(key, count, highest, lead).first_at - clock.now()) / 1000


def test_each_reservation_begins_where_the_one_before_ends() -> None:
    assert Pace.reserve("num_1", 40, 80) == Reserved(clock.now(), 1 / 80)
    assert _wait("num_1", 40) == pytest.approx(0.5)
    assert _wait("num_2", 1) == 0


def test_time_that_passed_unused_is_no_credit(clock: Clock) -> None:
    Pace.reserve("num_1", 1, 80)
    clock.advance(seconds=60)
    assert _wait("num_1", 80) == 0
    assert _wait("num_1", 1) == pytest.approx(1)


def test_workers_that_reserve_at_once_share_the_rate() -> None:
    found = factories.at_once(*[lambda: _wait("num_1", 10, 100)] * 4)
    assert sorted(found) == pytest.approx([0, 0.1, 0.2, 0.3])


def test_a_lead_moves_only_places_that_would_be_sooner() -> None:
    assert _wait("num_1", 40, lead=0.2) == pytest.approx(0.2)
    assert _wait("num_1", 1, lead=0.2) == pytest.approx(0.7)


def test_a_clock_that_is_set_back_makes_no_one_wait(clock: Clock) -> None:
    Pace.reserve("num_1", 1, 80)
    clock.advance(hours=-1)
    assert _wait("num_1", 1) == 0


def test_a_throttled_number_halves_its_rate_and_has_it_back_within_half_a_minute(
    clock: Clock,
) -> None:
    Pace.slow_down("num_1", 80)
    assert _rate() == pytest.approx(40)
    clock.advance(seconds=12)
    assert _rate() == pytest.approx(60)
    clock.advance(seconds=12)
    assert _rate() == pytest.approx(80)


def test_calls_that_are_throttled_together_slow_it_once(clock: Clock) -> None:
    for _ in range(20):
        Pace.slow_down("num_1", 80)
    assert _rate() == pytest.approx(40)
    clock.advance(seconds=1)
    Pace.slow_down("num_1", 80)
    assert _rate() == pytest.approx(20, rel=0.1)


def test_a_number_that_is_throttled_for_long_still_sends(clock: Clock) -> None:
    for _ in range(20):
        clock.advance(seconds=1)
        Pace.slow_down("num_1", 80)
    assert 1 <= _rate() < 4


def test_a_single_message_takes_a_place_before_those_that_wait(clock: Clock) -> None:
    Pace.reserve("num_1", 40, 80)
    for number_id in ("num_1", "num_1", "num_2"):
        with writing():
            Pace.take_place(number_id)
    assert _wait("num_1", 1) == pytest.approx(42 / 80)
    assert _wait("num_2", 1) == 0
    clock.advance(seconds=5)
    with writing():
        Pace.take_place("num_1")
    assert _wait("num_1", 1) == 0


def test_reservations_know_for_half_a_minute_that_single_sends_share_the_pace(clock: Clock) -> None:
    assert not Pace.reserve("num_1", 40, 80).is_shared
    for number_id in ("num_1", "num_2"):
        with writing():
            Pace.take_place(number_id)
    assert Pace.reserve("num_1", 1, 80).is_shared
    # Its send took no place: none was reserved.
    assert not Pace.reserve("num_2", 1, 80).is_shared
    clock.advance(seconds=29)
    assert Pace.reserve("num_1", 1, 80).is_shared
    # A clock that is set back makes it no longer.
    clock.advance(hours=-1)
    assert not Pace.reserve("num_1", 1, 80).is_shared
    clock.advance(hours=1, seconds=1)
    assert not Pace.reserve("num_1", 1, 80).is_shared
