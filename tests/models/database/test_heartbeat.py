"""Heartbeats of the workers."""

import pytest

from models.database.heartbeat import Heartbeat
from tests import factories
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def test_without_a_worker_there_is_no_heartbeat() -> None:
    assert Heartbeat.last() is None


def test_every_worker_writes_the_same_sign(clock: Clock) -> None:
    factories.at_once(Heartbeat.beat, Heartbeat.beat)
    clock.advance(seconds=5)
    Heartbeat.beat()
    assert Heartbeat.select().count() == 1
    assert Heartbeat.last() == clock.at


def test_after_the_clock_was_set_back_the_sign_follows_it(clock: Clock) -> None:
    Heartbeat.beat()
    clock.advance(hours=-1)
    Heartbeat.beat()
    assert Heartbeat.last() == clock.at
