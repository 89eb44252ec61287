"""Ends a process in which a part makes no progress, so that its supervisor starts it again.

A thread looks at all parts several times in a period. If one has made no progress for the period, the stacks
of all threads go to the log, and the process exits with EXIT_STATUS. The thread also reports to systemd.

A thread cannot look while C code keeps Python's lock. So it arms a timer of CPU time, whose signal ends the
process without Python. It counts CPU time because it must not fire after a suspension.
"""

import asyncio
import faulthandler
import io
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress

logger = logging.getLogger(__name__)

# The exit status: EX_SOFTWARE of sysexits.h.
EXIT_STATUS = 70
# Looks in a period, and the longest time between two, in seconds.
LOOKS, LONGEST_PAUSE = 12, 5.0
# Seconds that the log may take to receive the stacks.
REPORT_SECONDS = 5

# The most tasks of a loop, and frames of a task, whose stacks are logged.
MOST_TASKS, MOST_FRAMES = 50, 4

# Since when a part has made no progress, by time.monotonic(). None if it has nothing to do.
Since = Callable[[], float | None]
# The states of a process that systemd knows.
READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"


def _silence_of(loop: asyncio.AbstractEventLoop) -> Since:
    """Since when an event loop has not run a callback that it was asked to."""
    # Empty, or when it was asked. The callback empties it.
    asked: list[float] = []

    def since() -> float | None:
        if not asked:
            asked.append(time.monotonic())
            try:
                loop.call_soon_threadsafe(asked.clear)
            except RuntimeError:
                # The loop is closed.
                asked.clear()
        return next(iter(asked), None)

    return since


class Watchdog:
    """Watches parts of this process until it ends. With 0 ``seconds`` only its end is watched."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds or math.inf
        # Of each part its name, and how many seconds it may make no progress.
        self._parts: list[tuple[str, Since, float]] = []
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._pause = min(self._seconds / LOOKS, LONGEST_PAUSE)
        self._looked_at = self._forgiven_at = time.monotonic()

    def watch(self, name: str, since: Since, patience: float = 0) -> None:
        """Watch a part. ``patience`` is in seconds, in addition to the period."""
        self._parts.append((name, since, self._seconds + patience))

    def watch_loop(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        """Watch an event loop: whether it runs callbacks."""
        self._loops.append(loop)
        self.watch(name, _silence_of(loop))

    def start(self) -> None:
        """Begin, and tell systemd that this process is ready."""
        report_state(READY)
        _arm()
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def end_within(self, seconds: float) -> None:
        """End the process if it still runs after ``seconds``."""
        began_at = time.monotonic()
        self._parts.append(("the stop of this process", lambda: began_at, seconds))

    def _run(self) -> None:
        while (late := self._look()) is None:
            if math.isfinite(self._seconds):
                # End the process after so many seconds of its CPU time, unless this is called again.
                signal.setitimer(signal.ITIMER_PROF, 2 * self._seconds)
            report_state(ALIVE)
            time.sleep(self._pause)
        self._end(late)

    def _look(self) -> str | None:
        """What makes no progress, or None."""
        now = time.monotonic()
        if now - self._looked_at > self._pause + min(self._seconds, LONGEST_PAUSE * LOOKS) / 2:
            # This thread did not run either: the process or the machine was suspended.
            self._forgiven_at = now
        self._looked_at = now
        for name, since_when, seconds in self._parts:
            since = since_when()
            if since is not None and now - max(since, self._forgiven_at) > seconds:
                return f"{name} has made no progress for {now - since:.0f} s"
        return None

    def _end(self, why: str) -> None:
        """Log the stacks, and exit. Neither may wait for what hangs."""

        def report() -> None:
            text = "%s; this process ends, for its supervisor to start it again"
            logger.critical(text, why, extra={"fields": {"stacks": stacks(self._loops)}})
            logging.shutdown()

        for each in (report, _dump):
            thread = threading.Thread(target=each, name="watchdog-report", daemon=True)
            thread.start()
            thread.join(REPORT_SECONDS)
            if not thread.is_alive():
                break
        os._exit(EXIT_STATUS)


def _dump() -> None:
    """Write the stacks without the log, whose lock may be what hangs."""
    with suppress(RuntimeError, OSError, ValueError):
        faulthandler.dump_traceback(all_threads=True)


def _arm() -> None:
    """Make signals that end the process write all stacks first: SIGABRT of systemd, and the timer's."""
    with suppress(RuntimeError, OSError, ValueError):
        faulthandler.enable(all_threads=True)
        faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)


def stacks(loops: Iterable[asyncio.AbstractEventLoop]) -> str:
    """The stacks of all threads and tasks. No values: they may be secrets."""
    text = io.StringIO()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - documented, for debuggers
        text.write(f"Thread {names.get(ident, ident)}:\n")
        traceback.print_stack(frame, file=text)
    for loop in loops:
        # The loop may start tasks meanwhile.
        with suppress(RuntimeError):
            for task in list(asyncio.all_tasks(loop))[:MOST_TASKS]:
                text.write(f"Task {task.get_name()}:\n")
                frames = [(each, each.f_lineno) for each in task.get_stack(limit=MOST_FRAMES)]
                traceback.print_list(traceback.StackSummary.extract(iter(frames)), text)
    return text.getvalue()


def report_state(state: str) -> None:
    """Send a state to systemd, as sd_notify(3) does. Never waits: a lost one is repeated or has no effect."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    # An abstract address begins with a zero byte, which a variable cannot hold.
    place = f"\0{address[1:]}" if address.startswith("@") else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(0)
        sender.sendto(state.encode(), place)
