"""The memory of a process, and its budget (docs/operations.md, Memory)."""

import re
from pathlib import Path

# How much more than at its start a process may have.
BUDGET_KIB = 256 * 1024


def memory_kib(pid: int) -> int:
    """The present memory of a process."""
    return _kib(pid, "VmRSS")


def peak_kib(pid: int) -> int:
    """The peak so far."""
    return _kib(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    """Begin a new peak (proc_pid_clear_refs(5))."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _kib(pid: int, name: str) -> int:
    [kib] = re.findall(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(kib)
