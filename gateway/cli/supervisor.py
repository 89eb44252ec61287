"""Keeps the parts of the gateway running as processes: one that dies is started again, and said so."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

STOP_SECONDS = 15
POLL_SECONDS = 0.1
RESTART_SECONDS = 1
PR_SET_PDEATHSIG = 1


def _end_with_parent(parent: int) -> None:
    """Have Linux send SIGTERM when the supervisor dies, so that no part outlives a SIGKILL of it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        # The supervisor may have died before this call; then no signal comes.
        if os.getppid() != parent:
            os._exit(1)


@dataclass
class Part:
    """One process: its name, its arguments after ``python`` and its environment."""

    name: str
    arguments: list[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    started_at: float = field(default=0, init=False)

    def start(self) -> None:
        """Start the process, in a group of its own so that Ctrl-C reaches only the supervisor."""
        # Children of a killed process would keep its port.
        self.kill()
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, *self.arguments],
            env=dict(self.environment),
            start_new_session=True,
            preexec_fn=partial(_end_with_parent, os.getpid()),  # noqa: PLW1509 - the supervisor has one thread
        )

    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """Ask the process to end."""
        if self.process is not None and self.is_running():
            os.killpg(self.process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End the process and whatever it left behind, if anything is there."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class StopFlag:
    """Whether to stop.

    Set by a signal handler, which may interrupt the main thread anywhere. So it takes no lock: a
    threading.Event that is set inside its own wait() waits for itself for ever.
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Stop."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether to stop."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait for it, at most so long. Returns whether to stop."""
        deadline = time.monotonic() + seconds
        while not self._is_set and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, POLL_SECONDS))
        return self._is_set


class Supervisor:
    """Runs parts until it is told to stop. ``longest_stop``: seconds that a part may need to end."""

    def __init__(
        self, parts: list[Part], say: Callable[[str], None], longest_stop: float = 0
    ) -> None:
        self._parts = parts
        self._say = say
        self._longest_stop = longest_stop
        self.stopping = StopFlag()

    def start(self) -> None:
        """Start all parts."""
        for part in self._parts:
            part.start()

    def watch(self) -> None:
        """Start dead parts again until stop is asked for; a part that dies at once waits a second."""
        while not self.stopping.wait(POLL_SECONDS):
            for part in self._parts:
                if part.is_running() or time.monotonic() - part.started_at < RESTART_SECONDS:
                    continue
                status = part.process.returncode if part.process is not None else None
                self._say(f"{part.name} ended ({status}); starting it again")
                part.start()

    def stop(self) -> None:
        """End all parts cleanly, and by force those that do not end in time."""
        for part in self._parts:
            part.stop()
        deadline = time.monotonic() + max(STOP_SECONDS, self._longest_stop)
        while any(p.is_running() for p in self._parts) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        for part in self._parts:
            part.kill()
