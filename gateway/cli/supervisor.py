"""Keeps the parts of the gateway running as processes: one that dies is started again, and said so."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial

import click

STOP_SECONDS = 15
POLL_SECONDS = 0.1
RESTART_SECONDS = 1
PR_SET_PDEATHSIG = 1

Process = subprocess.Popen[bytes]


class Supervisor:
    """Runs parts until SIGTERM or Ctrl-C: Python programs, given by their arguments.

    ``longest_stop`` is how many seconds a part may need to end.
    """

    def __init__(self, parts: Mapping[str, list[str]], longest_stop: float = 0) -> None:
        self._parts = parts
        self._longest_stop = longest_stop
        self._processes: dict[str, Process] = {}
        self._started_at: dict[str, float] = {}
        self.is_stopping = False

    def start(self) -> None:
        """Start all parts, and listen to signals."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        for name in self._parts:
            self._start(name)

    def _hear(self, *_: object) -> None:
        self.is_stopping = True

    def _start(self, name: str) -> None:
        """Start a part, in a group of its own so that Ctrl-C reaches only the supervisor."""
        self._started_at[name] = time.monotonic()
        self._processes[name] = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, *self._parts[name]],
            start_new_session=True,
            preexec_fn=partial(_end_with_parent, os.getpid()),  # noqa: PLW1509 - the supervisor has one thread
        )

    def watch(self) -> None:
        """Start dead parts again until it is to stop; a part that dies at once waits a second."""
        while not self.is_stopping:
            time.sleep(POLL_SECONDS)
            for name, process in list(self._processes.items()):
                age = time.monotonic() - self._started_at[name]
                if process.poll() is None or age < RESTART_SECONDS:
                    continue
                click.echo(f"{name} ended ({process.returncode}); starting it again", err=True)
                # Children of a killed process would keep its port.
                _kill(process)
                self._start(name)

    def stop(self) -> None:
        """End all parts cleanly, and by force those that do not end in time."""
        deadline = time.monotonic() + max(STOP_SECONDS, self._longest_stop)
        processes = self._processes.values()
        for process in processes:
            process.terminate()
        while any(p.poll() is None for p in processes) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        for process in processes:
            _kill(process)


def _kill(process: Process) -> None:
    """End a process and whatever it left behind, if anything is there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_with_parent(parent: int) -> None:
    """Have Linux send SIGTERM when the supervisor dies, so that no part outlives a SIGKILL of it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        # The supervisor may have died before this call; then no signal comes.
        if os.getppid() != parent:
            os._exit(1)
