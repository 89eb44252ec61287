"""A clock of the kernel that nobody sets: milliseconds since the boot, times of sleep included."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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
    """Reads CLOCK_BOOTTIME. A tool that shifts the clocks of a process shifts this one too, but no file."""

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
