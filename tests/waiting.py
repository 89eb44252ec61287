"""Waiting for something that another thread does."""

import time
from collections.abc import Callable

PATIENCE = 10.0


def until(condition: Callable[[], object], what: str) -> None:
    """Poll until the condition holds. Fails with ``what`` when it never does."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE} s"
        time.sleep(0.002)
