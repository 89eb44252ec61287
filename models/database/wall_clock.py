"""The clocks of this machine: the wall clock is distrusted after a jump.

A clock of the kernel that nobody sets shows a jump: the distance of the two changes. Then the time continues
as before. A clock that stays where it jumped is followed after a while, and may delete again a day later, or
when an operator confirms it (docs/decisions/0013-redelivery-and-retention.md).
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
# A change up to this is no jump: time servers correct clocks by seconds.
TOLERANCE_MS = MINUTE_MS
# How long a clock must stay where it jumped until it is followed, and until it is confirmed.
FOLLOW_MS, CONFIRM_MS = 10 * MINUTE_MS, DAY_MS
_UPTIME, _BOOT = Path("/proc/uptime"), Path("/proc/sys/kernel/random/boot_id")
# After a step of more than this, in milliseconds, the clock is compared with the kernel's own count.
STEP_MS = 1_000
# /proc/uptime counts in hundredths of a second, and reading it takes a moment.
NOISE_MS = 500


def _boottime() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def _uptime() -> int:
    return round(float(_UPTIME.read_text().split()[0]) * 1000)


class Steady:
    """Milliseconds since the boot, times of sleep included, by CLOCK_BOOTTIME.

    A tool that shifts the clocks of a process shifts this one too, but no file.
    """

    def __init__(
        self, read: Callable[[], int] = _boottime, check: Callable[[], int] = _uptime
    ) -> None:
        self._read, self._check = read, check
        self._seen = -STEP_MS - 1
        self._shift = 0

    def __call__(self) -> int:
        """Milliseconds since the boot."""
        here = self._read()
        if not 0 <= here - self._seen <= STEP_MS:
            with suppress(OSError):
                shift = self._check() - here
                if abs(shift - self._shift) > NOISE_MS:
                    self._shift = shift
        self._seen = here
        return here + self._shift


steady = Steady()


def boot_id() -> str:
    """The name of this boot. Empty where the kernel gives none."""
    with suppress(OSError):
        return _BOOT.read_text().strip()
    return ""


@dataclass(frozen=True)
class Known:
    """The last confirmed time ``at``, in this boot, and what to add to the steady clock then."""

    boot: str
    offset: int
    at: int


class WallClock:
    """Milliseconds since the epoch. All distances are to the steady clock."""

    def __init__(
        self,
        wall: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        since_boot: Callable[[], int] = steady,
        boot: str = boot_id(),
    ) -> None:
        self._wall, self._since_boot, self._boot = wall, since_boot, boot
        self._confirmed: int | None = None
        # The one in use, which may not be confirmed yet.
        self._used = 0
        # How far ahead of the confirmed one a clock may be. After a boot nobody knows how long it took.
        self._most_ahead = TOLERANCE_MS
        # Where the clock jumped to, and when.
        self._jumped_to, self._jumped_at = 0, 0

    def now(self) -> int:
        """The time: that of the clock, or after a jump the one that would be without it."""
        since_boot, wall = self._since_boot(), self._wall()
        if self._confirmed is None or abs(wall - since_boot - self._used) <= TOLERANCE_MS:
            return wall
        return since_boot + self._used

    def certain(self) -> int:
        """The earliest that the time can be."""
        if self.is_confirmed:
            return self.now()
        return min(self.now(), self._since_boot() + (self._confirmed or 0))

    @property
    def ahead(self) -> int:
        """How far the clock is ahead of the confirmed time. Negative if it is behind."""
        if self._confirmed is None:
            return 0
        return self._wall() - self._since_boot() - self._confirmed

    @property
    def is_confirmed(self) -> bool:
        """Whether the clock did not jump."""
        return -TOLERANCE_MS <= self.ahead <= self._most_ahead

    def look(self, known: Known | None) -> Known:
        """Compare the clocks, and with what the database knows. Returns what is known now."""
        if self._confirmed is None:
            self._begin(known)
        elif known is not None and known.boot == self._boot:
            self._confirmed = known.offset
        distance = self._wall() - self._since_boot()
        if self.is_confirmed:
            self.confirm()
        elif abs(distance - self._jumped_to) > TOLERANCE_MS:
            self._note_jump(distance)
        else:
            self._wait(distance)
        return self.known

    @property
    def known(self) -> Known:
        """The confirmed time."""
        offset = self._confirmed or 0
        return Known(self._boot, offset, self._since_boot() + offset)

    def confirm(self) -> None:
        """Trust the clock as it is."""
        if self._jumped_at:
            logger.warning("the clock is confirmed: old rows are deleted again")
        self._confirmed = self._used = self._wall() - self._since_boot()
        self._most_ahead, self._jumped_to, self._jumped_at = TOLERANCE_MS, 0, 0

    def _begin(self, known: Known | None) -> None:
        since_boot, distance = self._since_boot(), self._wall() - self._since_boot()
        if known is None:
            self._confirmed = self._used = distance
        elif known.boot == self._boot:
            self._confirmed = self._used = known.offset
        else:
            # At least no time has passed since.
            self._confirmed, self._most_ahead = known.at - since_boot, DAY_MS
            self._used = max(distance, self._confirmed)

    def _note_jump(self, distance: int) -> None:
        self._jumped_to, self._jumped_at = distance, self._since_boot()
        logger.warning(
            "the clock jumped by %d s: nothing is deleted until it is back, stays for a day or is confirmed"
            " (gateway clock confirm)",
            self.ahead // 1000,
        )

    def _wait(self, distance: int) -> None:
        """Follow a clock that stays. One that is a day behind is certainly wrong."""
        lasted = self._since_boot() - self._jumped_at
        if self.ahead < -DAY_MS:
            return
        if lasted >= FOLLOW_MS:
            self._used = distance
        if lasted >= CONFIRM_MS:
            self.confirm()


wall_clock = WallClock()
