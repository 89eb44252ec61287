"""The spacing of rounds: rare ones wait for nothing, and those that follow each other wait."""

import pytest

from tasks.spacing import Spacing

# So many rounds follow each other at once.
ROUNDS = 4


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _pauses(spacing: Spacing, clock: Clock, count: int, apart: float) -> list[float]:
    found = []
    for _ in range(count):
        found.append(round(spacing.pause(), 6))
        clock.now += max(apart, found[-1])
    return found


def test_the_first_rounds_follow_each_other_at_once(clock: Clock) -> None:
    pauses = _pauses(Spacing(0.01, clock), clock, ROUNDS + 3, apart=0)
    assert pauses == [0] * ROUNDS + [0.01] * 3


@pytest.mark.parametrize(("apart", "pause"), [(0.01, 0), (0.02, 0), (0.004, 0.01)])
def test_rounds_pause_only_if_they_come_more_often(
    clock: Clock, apart: float, pause: float
) -> None:
    assert _pauses(Spacing(0.01, clock), clock, 100, apart)[-1] == pause


def test_a_rest_lets_rounds_follow_each_other_again(clock: Clock) -> None:
    spacing = Spacing(0.01, clock)
    _pauses(spacing, clock, 20, apart=0)
    clock.now += 60
    assert _pauses(spacing, clock, ROUNDS + 1, apart=0) == [0] * ROUNDS + [0.01]
