"""The workers' sign of life."""

import pytest

from models.heartbeat import INTERVAL_MS, Heartbeat
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def test_a_service_that_never_had_a_worker_knows_of_none() -> None:
    assert Heartbeat.last() is None


@pytest.mark.parametrize(("later", "written"), [(INTERVAL_MS - 1, False), (INTERVAL_MS, True)])
def test_a_sign_of_life_is_written_every_few_seconds_at_most(
    clock: Clock, later: int, *, written: bool
) -> None:
    Heartbeat.beat()
    first = clock.at
    clock.at += later
    Heartbeat.beat()
    assert Heartbeat.last() == (clock.at if written else first)


def test_after_the_clock_was_set_back_the_sign_follows_it(clock: Clock) -> None:
    Heartbeat.beat()
    clock.advance(hours=-1)
    Heartbeat.beat()
    assert Heartbeat.last() == clock.at
