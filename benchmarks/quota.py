"""Limits processes to a fixed share of a core with a Linux control group.

The result of a measurement then depends on the share, and not on the number of free cores.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

from contract_tests.waiting import wait_for

# Version 1 has a folder for each controller, version 2 one folder for all.
_VERSION_1, _VERSION_2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
# The period of the share, in microseconds. It is short, because a process that has used its part is
# suspended until the next period, together with the locks that it holds.
PERIOD_US = 10_000
_numbers = count()


class Share:
    """A share of a core. ``group`` None means no limit."""

    def __init__(self, group: Path | None) -> None:
        self._group = group

    def hold(self, pid: int) -> None:
        """Limit a process with all its threads and its future children."""
        if self._group is not None:
            (self._group / "cgroup.procs").write_text(str(pid))


@contextmanager
def share(cores: float) -> Iterator[Share]:
    """A share of ``cores``, or no limit if control groups are unavailable. Its processes must end first."""
    if not is_available():
        yield Share(None)
        return
    with _group(cores) as group:
        yield Share(group)


@cache
def is_available() -> bool:
    """Whether this user may create control groups on this machine."""
    try:
        with _group(1):
            return True
    except OSError:
        return False


@contextmanager
def _group(cores: float) -> Iterator[Path]:
    parent = _VERSION_1 if _VERSION_1.is_dir() else _VERSION_2
    group = parent / f"gateway-bench-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    try:
        _bound(group, round(cores * PERIOD_US))
        yield group
    finally:
        wait_for(lambda: _is_removed(group), f"the end of {group}")


def _bound(group: Path, quota_us: int) -> None:
    if group.parent == _VERSION_1:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        return
    (_VERSION_2 / "cgroup.subtree_control").write_text("+cpu")
    (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")


def _is_removed(group: Path) -> bool:
    """A stopped process stays in its group for a moment."""
    try:
        group.rmdir()
    except OSError:
        return False
    return True
