"""Processes that are halted, like one that hangs."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from contract_tests.processes import children_of, is_alive
from contract_tests.waiting import wait_for


def halt(process: int) -> None:
    """Halt a process until it is resumed. Returns when all its threads have stopped."""
    os.kill(process, signal.SIGSTOP)
    # The sender of the signal continues before it arrives: a thread may take a lock meanwhile.
    wait_for(lambda: _is_stopped(process), "a process that is halted")


def resume(process: int) -> None:
    """Resume a halted process."""
    os.kill(process, signal.SIGCONT)


def halt_all(parent: int) -> list[int]:
    """Halt a process and its children, like a machine that hangs. Returns what was halted."""
    # The parent first: it starts no more children.
    halt(parent)
    children = children_of(parent)
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGSTOP)
    # A child that ended before its signal came remains a zombie.
    wait_for(
        lambda: all(_is_stopped(child) or not is_alive(child) for child in children),
        "children that are halted",
    )
    return [parent, *children]


@contextmanager
def halted(process: int) -> Iterator[None]:
    """Halt this process while the block runs."""
    halt(process)
    try:
        yield
    finally:
        resume(process)


@contextmanager
def all_halted(parent: int) -> Iterator[None]:
    """Halt a process and its children while the block runs."""
    processes = halt_all(parent)
    try:
        yield
    finally:
        for each in processes:
            resume(each)


def _is_stopped(process: int) -> bool:
    try:
        threads = [(each / "stat").read_text() for each in Path(f"/proc/{process}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        # A thread ended meanwhile.
        return False
    # The state follows the name, which is in brackets and may contain any characters.
    return all(thread.rpartition(")")[2].split()[0] == "T" for thread in threads)
