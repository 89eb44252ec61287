"""Waiting for the work of another thread."""

import time
from collections.abc import Callable

PATIENCE = 10.0


def until(condition: Callable[[], object], what: str) -> None:
    """Poll until the condition holds. Fails with ``what`` after the time limit."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE} s"
        time.sleep(0.002)
