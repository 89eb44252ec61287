"""Processes that are there and do nothing, as one that hangs."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contract_tests.waiting import wait_for


def halt(process: int) -> None:
    """Have a process do nothing more until it is resumed. Returns when all its threads stand still."""
    os.kill(process, signal.SIGSTOP)
    # Whoever sends the signal goes on before it arrives: a thread may take a lock meanwhile.
    wait_for(lambda: _stands_still(process), "a process that stands still")


def resume(process: int) -> None:
    """Have a halted process go on."""
    os.kill(process, signal.SIGCONT)


@contextmanager
def halted(process: int) -> Iterator[None]:
    """With this process halted."""
    halt(process)
    try:
        yield
    finally:
        resume(process)


def _stands_still(process: int) -> bool:
    try:
        threads = [(each / "stat").read_text() for each in Path(f"/proc/{process}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        # A thread ended meanwhile.
        return False
    # The state follows the name, which is in brackets and may hold any.
    return all(thread.rpartition(")")[2].split()[0] == "T" for thread in threads)
