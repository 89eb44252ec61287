"""The time, and identifiers that sort by it.

Times are whole milliseconds since the Unix epoch, UTC. On PostgreSQL the time is the server's, because hosts
may disagree. On SQLite it is this machine's, whose wall clock is distrusted after a jump.

A clock of the kernel that nobody sets shows a jump: the distance of the two changes. Then the time continues
as before. A clock that stays where it jumped is followed after a while, and may delete again a day later, or
when an operator confirms it (docs/decisions/0013-redelivery-and-retention.md).

An identifier is a prefix that names the kind of resource, and a ULID.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, product
from pathlib import Path
from typing import Any

from ulid import ULID, ULIDGenerator

logger = logging.getLogger(__name__)

# Of a ULID, in ascending order.
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID = re.compile(r"[a-z]{2,4}_[0-9A-HJKMNP-TV-Z]{26}")
MINUTE_MS = 60_000
# The latest time of an identifier, which has six bytes for it.
LATEST = 2**48 - 1
DAY_MS = 24 * 60 * MINUTE_MS
# A change up to this is no jump: time servers correct clocks by seconds.
TOLERANCE_MS = MINUTE_MS
# How long a clock must stay where it jumped until it is followed, and until it is confirmed.
FOLLOW_MS, CONFIRM_MS = 10 * MINUTE_MS, DAY_MS
# After a step of more than this, in milliseconds, the clock is compared with the kernel's own count.
STEP_MS = 1_000
# /proc/uptime counts in hundredths of a second, and reading it takes a moment.
NOISE_MS = 500
_SERVER_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# A measurement of the server's time that took longer, or differs by less, changes nothing.
MOST_TRIP_MS, TRIP_NOISE_MS = 200, 20


def _boottime() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def _uptime() -> int:
    return round(float(Path("/proc/uptime").read_text().split()[0]) * 1000)


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
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
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


class ServerTime:
    """The time of PostgreSQL's server, without a round trip for each use.

    ``offset`` is what to add to the steady clock. None before the first connection, and on SQLite.
    """

    offset: int | None = None

    def measure(self, session: Any) -> None:
        """Ask the server over this idle session. Raises psycopg.Error."""
        before = steady()
        (at,) = session.execute(_SERVER_TIME).fetchone()
        trip = steady() - before
        offset = at - before - trip // 2
        if self.offset is None or (
            trip <= MOST_TRIP_MS and abs(offset - self.offset) > trip + TRIP_NOISE_MS
        ):
            self.offset = offset

    def forget(self) -> None:
        """Another database is used from now on."""
        self.offset = None


server_time = ServerTime()
# The same clock as created_at, so that the identifier holds the time of its row.
_generator = ULIDGenerator(clock=lambda: now())  # noqa: PLW0108 - looked up at each call


def now() -> int:
    """The current time in milliseconds since the epoch."""
    offset = server_time.offset
    return wall_clock.now() if offset is None else steady() + offset


def certain() -> int:
    """The earliest that the time can be. Rows are deleted by it, and keys, links and sessions expire."""
    return now() if is_confirmed() else min(now(), wall_clock.certain())


def is_confirmed() -> bool:
    """Whether the time is certain. While it is not, nothing is deleted for its age."""
    return server_time.offset is not None or wall_clock.is_confirmed


def timestamp(milliseconds: int) -> str:
    """ISO 8601 with milliseconds and ``Z``."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return at.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def moment(milliseconds: int | None) -> str | None:
    """Like ``timestamp``, and None for None."""
    return None if milliseconds is None else timestamp(milliseconds)


def new_id(prefix: str) -> str:
    """A new identifier such as ``msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C``."""
    return f"{prefix}_{_generator.generate()}"


def id_at(prefix: str, at: int) -> str:
    """A new identifier like one from this time, for a row that belongs there."""
    time_part = min(max(0, at), LATEST).to_bytes(6, "big")
    return f"{prefix}_{ULID(time_part + secrets.token_bytes(10))}"


def new_ids(prefix: str, count: int) -> list[str]:
    """Up to 1,024 identifiers in ascending order. They cost less than one by one."""
    # Not by the generator: within a millisecond it counts, and the next ones would be the same.
    first = id_at(prefix, now())[:-2]
    pairs = product(_DIGITS, repeat=2)
    return [f"{first}{a}{b}" for a, b in islice(pairs, count)]


def is_id(text: str) -> bool:
    """Whether a text has the form of an identifier of new_id(), which no word or number has."""
    return bool(_ID.fullmatch(text))


def id_bound(prefix: str, at: int) -> str:
    """A lower bound of all identifiers made at ``at`` or later. Earlier ones are below it.

    So a bound in time can use the index of the identifiers.
    """
    # The time is the first six bytes of a ULID, and the first ten characters.
    time_part = max(0, at).to_bytes(6, "big")
    return f"{prefix}_{str(ULID(time_part + bytes(10)))[:10]}"
