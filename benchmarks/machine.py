"""Describes the machine of the figures, so that a reader can compare them."""

import contextlib
import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path


def describe() -> dict[str, str | int | float]:
    """Processor, cores, memory (GiB), kernel, and the versions that the figures depend on.

    PostgreSQL and Redis are included if they are installed.
    """
    return {
        "cpu": _first_line_of("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memoryGiB": round(memory() / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **_version("postgresql", _postgres()),
        **_version("redis", shutil.which("redis-server")),
    }


def memory() -> int:
    """The memory of the whole machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Processors:
    """The use of all cores since this was created, in shares of their time from 0 to 1."""

    def __init__(self) -> None:
        self._begin = _processor_times()

    @property
    def idle(self) -> float:
        """The idle share."""
        return self._share("idle") + self._share("waiting")

    @property
    def stolen(self) -> float:
        """The share given to other machines on the same host while there was work here."""
        return self._share("stolen")

    def _share(self, name: str) -> float:
        spent = {key: now - self._begin[key] for key, now in _processor_times().items()}
        return spent[name] / max(1, sum(spent.values()))


def cpu_seconds(pid: int) -> float:
    """The CPU seconds of a process, including its running and ended children."""
    ticks = sum(sum(used) for process, parent, used in _all_processes() if pid in {process, parent})
    return ticks / os.sysconf("SC_CLK_TCK")


def _all_processes() -> Iterator[tuple[int, int, Sequence[int]]]:
    """Each process, its parent, and the ticks of itself and its ended children."""
    for entry in Path("/proc").iterdir():
        # A process may end while it is read.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if entry.name.isdecimal():
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                yield int(entry.name), int(fields[1]), [int(each) for each in fields[11:15]]


def _processor_times() -> dict[str, int]:
    """The ticks of all cores so far. ``waiting`` is the wait for a disk."""
    names = ("user", "nice", "system", "idle", "waiting", "interrupt", "soft interrupt", "stolen")
    ticks = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return {name: int(each) for name, each in zip(names, ticks, strict=False)}


def _first_line_of(path: str, name: str) -> str | None:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _postgres() -> str | None:
    """Debian installs the server outside of the PATH, in a folder for each version."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    return shutil.which("postgres") if newest is None else str(newest)


def _version(name: str, program: str | None) -> dict[str, str]:
    if program is None:
        return {}
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return {name: said.stdout.strip()}
