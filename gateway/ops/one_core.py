"""One core for a process whose threads take turns, because Python runs one of them at a time.

The kernel deals threads out over the cores, and a thread whose turn comes on another core finds its caches
cold. So a process that has much to do keeps all its threads on one core, looks every moment whether another
one has more room, and gives itself back to the kernel when it has little to do
(docs/decisions/0033-one-core-for-a-process.md). Linux only; elsewhere nothing happens.

Two such processes must not stay on one core while the rest of the machine's work, which the kernel moves
out of their way, fills another: what is bound to a core counts more than what merely runs there.
"""

import contextlib
import os
import random
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")
STATISTICS = PROCESSES / "stat"
INTERVAL_SECONDS = 0.5
# Shares of a core: from the first on a process keeps to one, below the second it lets it go.
BUSY, IDLE = 0.3, 0.1
# So much more room has another core to have.
BETTER = 0.25
# What is bound to a core counts so many times: the kernel cannot move it elsewhere.
BOUND_COUNTS = 3
# Two processes that see the same are not to move together for ever.
SHARE_THAT_MOVES = 0.5


@dataclass(frozen=True)
class Look:
    """Seconds of processor time since the start.

    Of this process, of everybody by core, and of each other process that is bound to one core, by that
    core and its process id; the latter only if they were asked for, since all processes are gone through.
    """

    at: float
    own: float
    cores: Mapping[int, float]
    bound: Mapping[tuple[int, int], float]

    @classmethod
    def take(cls, *, with_bound: bool) -> "Look":
        """What the kernel says now."""
        bound = _bound_seconds() if with_bound else {}
        return cls(time.monotonic(), time.process_time(), _busy_seconds(), bound)


def choose(
    current: int | None, own: float, busy: Mapping[int, float], bound: Mapping[int, float]
) -> int | None:
    """The core to keep to from now on, None for any.

    ``own`` is the share of a core that this process used, ``busy`` what all together used of each, and
    ``bound`` what of it other processes used that are bound to that core, as far as they can be seen.
    """
    if own < (BUSY if current is None else IDLE):
        return None
    others = {
        core: share - (own if core == current else 0) + (BOUND_COUNTS - 1) * bound.get(core, 0)
        for core, share in busy.items()
    }
    best = min(others, key=others.__getitem__)
    if current is None:
        return best
    is_better = others[current] - others[best] > BETTER
    return best if is_better and random.random() < SHARE_THAT_MOVES else current  # noqa: S311 - no secret


class OneCore(threading.Thread):
    """Keeps this process to one of the cores that it may use, for as long as it runs."""

    def __init__(self, interval: float = INTERVAL_SECONDS) -> None:
        super().__init__(name="one-core", daemon=True)
        self._interval = interval
        self._allowed = os.sched_getaffinity(0)
        self._core: int | None = None

    def run(self) -> None:
        """Look, and move."""
        before = Look.take(with_bound=False)
        while True:
            time.sleep(self._interval)
            now = Look.take(with_bound=self._core is not None)
            self._move(before, now)
            before = now

    def _move(self, before: Look, now: Look) -> None:
        passed = now.at - before.at
        busy = {core: (now.cores[core] - before.cores[core]) / passed for core in self._allowed}
        bound = dict.fromkeys(self._allowed, 0.0)
        for core, process in now.bound.keys() & before.bound.keys():
            if core in bound:
                used = now.bound[core, process] - before.bound[core, process]
                bound[core] += used / passed
        chosen = choose(self._core, (now.own - before.own) / passed, busy, bound)
        if chosen is not None or self._core is not None:
            # Threads that began meanwhile are brought along.
            _keep_to(self._allowed if chosen is None else {chosen})
        self._core = chosen


def keep_to_one_core() -> None:
    """Begin, where there is a choice of cores and a way to choose."""
    if hasattr(os, "sched_setaffinity") and STATISTICS.exists():
        allowed = os.sched_getaffinity(0)
        # Some containers number the cores of their statistics anew.
        if len(allowed) > 1 and allowed <= _busy_seconds().keys():
            OneCore().start()


def _keep_to(cores: Collection[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        # It may have ended.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cores)


def _busy_seconds() -> dict[int, float]:
    """By core, from /proc/stat: all but what it was idle or waited for a disk."""
    found: dict[int, float] = {}
    for line in STATISTICS.read_text().splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            user, nice, system, _idle, _waiting, *rest = map(int, ticks[:8])
            found[int(name[3:])] = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
    return found


def _bound_seconds() -> dict[tuple[int, int], float]:
    """By core and process id, of the processes that can be seen and may run on one core only."""
    found: dict[tuple[int, int], float] = {}
    for path in PROCESSES.iterdir():
        if not path.name.isdigit() or int(path.name) == os.getpid():
            continue
        # It may have ended, or be nobody's business (the mount option hidepid).
        with contextlib.suppress(OSError):
            core, *more = os.sched_getaffinity(int(path.name))
            if not more:
                # The name of the command, in parentheses, may hold anything.
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                ticks = int(fields[11]) + int(fields[12])
                found[core, int(path.name)] = ticks / os.sysconf("SC_CLK_TCK")
    return found
