"""Runs the parts of the gateway as processes, and restarts those that die."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import click

POLL_SECONDS = 0.05
RESTART_SECONDS = 1
PR_SET_PDEATHSIG = 1
# Loaded before the supervisor starts a part: after a fork, another thread's lock would stay locked.
_LIBC = ctypes.CDLL(None)

Process = subprocess.Popen[bytes]


@dataclass
class Supervisor:
    """Runs parts until SIGTERM or Ctrl-C: Python programs, given by their arguments.

    ``stop_seconds`` is the longest that they may take to end. They inherit the descriptors ``pass_fds``.
    """

    parts: Mapping[str, list[str]]
    stop_seconds: float
    pass_fds: Sequence[int] = ()
    is_stopping: bool = field(default=False, init=False)
    _is_hurried: bool = field(default=False, init=False)
    _processes: dict[str, Process] = field(default_factory=dict, init=False)
    _started_at: dict[str, float] = field(default_factory=dict, init=False)

    def start(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        for name in self.parts:
            self._start(name)

    def _hear(self, *_: object) -> None:
        # A second signal ends the parts at once.
        self._is_hurried = self.is_stopping
        self.is_stopping = True

    def _start(self, name: str) -> None:
        """Start a part in its own process group, so that Ctrl-C reaches only the supervisor."""
        self._started_at[name] = time.monotonic()
        self._processes[name] = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, *self.parts[name]],
            start_new_session=True,
            pass_fds=self.pass_fds,
            preexec_fn=partial(end_with_parent, os.getpid()),  # noqa: PLW1509 - it takes no lock
        )

    def tend(self) -> None:
        """Wait a moment, and restart the parts that have died. One that dies at once waits a second."""
        time.sleep(POLL_SECONDS)
        for name, process in list(self._processes.items()):
            age = time.monotonic() - self._started_at[name]
            if self.is_stopping or process.poll() is None or age < RESTART_SECONDS:
                continue
            click.echo(f"{name} ended ({process.returncode}); starting it again", err=True)
            # Children of a killed process would keep its port.
            _kill(process)
            self._start(name)

    def stop(self) -> None:
        """End all parts. Kill those that do not end in time, or when a second signal comes."""
        deadline = time.monotonic() + self.stop_seconds
        for process in self._processes.values():
            process.terminate()
        while (
            any(process.poll() is None for process in self._processes.values())
            and time.monotonic() < deadline
            and not self._is_hurried
        ):
            time.sleep(POLL_SECONDS)
        for process in self._processes.values():
            _kill(process)


def _kill(process: Process) -> None:
    """Kill a process and its remaining children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_with_parent(parent: int, number: signal.Signals = signal.SIGTERM) -> None:
    """Make Linux send a signal to this process when the supervisor dies, even by SIGKILL."""
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, number)
        # The supervisor may have died before this call; then no signal comes.
        if os.getppid() != parent:
            os._exit(1)
