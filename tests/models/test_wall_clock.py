"""A wall clock that jumps: the time continues, and it is confirmed only when the clock is back or stays."""

from dataclasses import dataclass

import pytest

from models.clock import (
    CONFIRM_MS,
    DAY_MS,
    FOLLOW_MS,
    TOLERANCE_MS,
    Known,
    Steady,
    WallClock,
)

EPOCH, HOUR = 1_795_167_000_000, 3_600_000
LOOK_MS = 10_000


@dataclass
class Machine:
    """Two clocks that a test moves."""

    wall: int = EPOCH
    since_boot: int = HOUR

    def clock(self, known: Known | None = None, boot: str = "this") -> WallClock:
        """The clock of a process that starts now."""
        made = WallClock(lambda: self.wall, lambda: self.since_boot, boot)
        made.look(known)
        return made

    def advance(self, ms: int) -> None:
        self.wall += ms
        self.since_boot += ms

    def wait(self, clock: WallClock, ms: int) -> None:
        """Let time pass, with the looks of a process."""
        for _ in range(ms // LOOK_MS + 1):
            self.advance(LOOK_MS)
            clock.look(None)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize("jump", [25 * HOUR, 31 * DAY_MS, -HOUR, -31 * DAY_MS, 2 * TOLERANCE_MS])
def test_the_time_goes_on_while_the_clock_is_elsewhere(machine: Machine, jump: int) -> None:
    clock = machine.clock()
    machine.advance(1_000)
    machine.wall += jump
    # Also before the process looks.
    assert (clock.now(), clock.certain(), clock.is_confirmed) == (EPOCH + 1_000,) * 2 + (False,)
    assert clock.ahead == jump
    clock.look(None)
    machine.advance(1_000)
    assert (clock.now(), clock.certain()) == (EPOCH + 2_000,) * 2
    machine.wall -= jump
    clock.look(None)
    assert (clock.now(), clock.is_confirmed) == (EPOCH + 2_000, True)


def test_a_small_correction_is_no_jump(machine: Machine) -> None:
    clock = machine.clock()
    for _ in range(5):
        machine.wall += TOLERANCE_MS
        assert (clock.now(), clock.is_confirmed) == (machine.wall, True)
        clock.look(None)


@pytest.mark.parametrize("jump", [25 * HOUR, -HOUR])
def test_a_clock_that_stays_is_followed_and_later_confirmed(machine: Machine, jump: int) -> None:
    clock = machine.clock()
    machine.wall += jump
    machine.wait(clock, FOLLOW_MS)
    assert (clock.now(), clock.is_confirmed) == (machine.wall, False)
    assert clock.certain() == machine.wall - max(jump, 0)
    machine.wait(clock, CONFIRM_MS)
    assert (clock.certain(), clock.is_confirmed) == (machine.wall, True)


def test_each_further_jump_begins_the_wait_anew(machine: Machine) -> None:
    clock = machine.clock()
    for _ in range(3):
        machine.wall += 25 * HOUR
        machine.wait(clock, FOLLOW_MS - 2 * LOOK_MS)
    assert clock.now() == machine.wall - 75 * HOUR


def test_a_clock_that_is_days_behind_is_never_followed(machine: Machine) -> None:
    clock = machine.clock()
    machine.wall -= 31 * DAY_MS
    machine.wait(clock, CONFIRM_MS)
    assert clock.now() == machine.wall + 31 * DAY_MS
    assert not clock.is_confirmed


def test_an_operator_confirms_a_clock(machine: Machine) -> None:
    clock = machine.clock()
    machine.wall += 31 * DAY_MS
    clock.look(None)
    clock.confirm()
    assert (clock.certain(), clock.is_confirmed) == (machine.wall, True)


def test_another_process_follows_a_confirmation(machine: Machine) -> None:
    clock, other = machine.clock(), machine.clock()
    machine.wall += 31 * DAY_MS
    clock.look(None)
    other.confirm()
    clock.look(other.known)
    assert (clock.certain(), clock.is_confirmed) == (machine.wall, True)


def test_a_process_that_starts_after_the_jump_notices_it(machine: Machine) -> None:
    known = machine.clock().known
    machine.wall += 25 * HOUR
    clock = machine.clock(known)
    assert (clock.now(), clock.is_confirmed) == (machine.wall - 25 * HOUR, False)


def test_after_a_boot_a_day_may_have_passed(machine: Machine) -> None:
    known = machine.clock().known
    machine.since_boot = 0
    machine.wall += 23 * HOUR
    clock = machine.clock(known, boot="next")
    assert (clock.certain(), clock.is_confirmed) == (machine.wall, True)


def test_after_a_boot_a_clock_that_is_far_ahead_is_used_but_not_certain(machine: Machine) -> None:
    known = machine.clock().known
    machine.since_boot = 0
    machine.wall += 31 * DAY_MS
    clock = machine.clock(known, boot="next")
    assert (clock.now(), clock.certain(), clock.is_confirmed) == (machine.wall, EPOCH, False)
    # A time server corrects it.
    machine.wall -= 31 * DAY_MS
    clock.look(known)
    assert (clock.certain(), clock.is_confirmed) == (machine.wall, True)


def test_after_a_boot_the_time_does_not_go_back(machine: Machine) -> None:
    known = machine.clock().known
    machine.since_boot, machine.wall = 0, 0
    clock = machine.clock(known, boot="next")
    machine.advance(5_000)
    assert (clock.now(), clock.is_confirmed) == (EPOCH + 5_000, False)


def test_a_tool_that_shifts_all_clocks_of_a_process_does_not_shift_the_steady_one() -> None:
    shown, kernel = [5_000], [5_000]
    steady = Steady(lambda: shown[0], lambda: kernel[0])
    assert steady() == 5_000
    for shift in (25 * HOUR, -HOUR):
        shown[0] += shift
        assert steady() == kernel[0]
        for _ in range(3):
            shown[0] += 900
            kernel[0] += 900
            assert steady() == kernel[0]
