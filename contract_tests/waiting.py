"""How every test of a running service waits."""

import os
import random
import socket
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

START_SECONDS = 60
WAIT_SECONDS = 20


HOST = "127.0.0.1"
# The kernel assigns higher ports to outgoing connections. It might take one of those while its server is down
# or does not listen yet.
PORTS = range(15_000, 32_000)

# Each process of a test run has its own range. Otherwise it may take the port of a stopped server.
_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

_given: set[int] = set()


def free_port() -> int:
    """A free port of this process's range that was not returned before."""
    while True:
        port = random.choice(PORTS[_PROCESS::_PROCESSES])  # noqa: S311 - no secret
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def wait_for(probe: Callable[[], T | None], what: str, seconds: float = WAIT_SECONDS) -> T:
    """Poll ``probe`` until it returns a true value. Fails with ``what`` after the limit.

    The pauses grow with the time waited, because most probes are requests, which take CPU time.
    """
    start = time.monotonic()
    while (waited := time.monotonic() - start) < seconds:
        if found := probe():
            return found
        time.sleep(min(max(waited / 8, 0.02), 0.25))
    raise AssertionError(f"{what} did not happen within {seconds} s")
