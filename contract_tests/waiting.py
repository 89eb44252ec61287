"""What every test of a running service waits with."""

import socket
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

START_SECONDS = 60
WAIT_SECONDS = 20


_given: set[int] = set()


def free_port() -> int:
    """A port that nobody listens at, and that nobody in this process was given before."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        # The system may well give out again at once what was just let go.
        if port not in _given:
            _given.add(port)
            return port


def wait_for(probe: Callable[[], T | None], what: str, seconds: float = WAIT_SECONDS) -> T:
    """Poll ``probe`` until it returns something true. Fails with ``what`` when it never does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen within {seconds} s")
