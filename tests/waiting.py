"""Waiting for the work of another thread."""

import os
import time
from collections.abc import Callable

# Seconds.
PATIENCE = float(os.environ.get("TEST_PATIENCE", "10"))


def until(condition: Callable[[], object], what: str) -> None:
    """Poll until the condition holds. Fails with ``what`` after the time limit.

    The pauses grow with the time waited, because polling takes CPU time from the work.
    """
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        assert waited < PATIENCE, f"{what} did not happen within {PATIENCE} s"
        time.sleep(min(max(waited / 8, 0.002), 0.1))
