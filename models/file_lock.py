"""Locks of files between processes, with a time-out."""

import fcntl
import time
from contextlib import suppress


def lock_within(seconds: float, file: int) -> bool:
    """Lock an open file for this process. Returns False after ``seconds``.

    The kernel releases the lock when the process ends. It polls, because a wait in the kernel has no timeout.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.001)
    return False
