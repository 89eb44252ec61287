"""The retry schedule: about 30 seconds, 5 minutes, 30 minutes."""

import pytest

from gateway.settings import Settings
from webhooks.schedule import RetrySchedule

DEFAULT = RetrySchedule(Settings.model_fields["retry_schedule"].default)


def test_the_default_is_the_specifications() -> None:
    assert DEFAULT.delays == (30, 300, 1800)


@pytest.mark.parametrize("tries", [1, 2, 3])
def test_a_delay_stays_within_ten_percent(tries: int) -> None:
    exact = DEFAULT.delays[tries - 1]
    drawn = [DEFAULT.delay_after(tries) for _ in range(1000)]
    assert all(delay and 0.9 * exact <= delay <= 1.1 * exact for delay in drawn)


def test_delays_are_spread_so_that_retries_do_not_come_in_a_burst() -> None:
    delays = {DEFAULT.delay_after(1) for _ in range(100)}
    assert len(delays) > 90
    assert min(d for d in delays if d) < 29
    assert max(d for d in delays if d) > 31


def test_there_is_no_delay_after_the_last_retry() -> None:
    assert DEFAULT.delay_after(4) is None
    assert DEFAULT.delay_after(5) is None
    assert RetrySchedule(()).delay_after(1) is None


def test_the_tries_are_the_first_and_one_for_each_delay() -> None:
    assert (DEFAULT.tries, RetrySchedule(()).tries) == (4, 1)


def test_the_longest_delays_have_the_whole_jitter() -> None:
    assert DEFAULT.longest_delays == pytest.approx((33, 330, 1980))
