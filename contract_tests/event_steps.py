"""Steps of tests about events: processes that write events, and a client that never reads."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from contract_tests.harness import Customer, Gateway


def writer(
    gateway: Gateway, customer: Customer, name: str, count: int, pause: float = 0.0
) -> "subprocess.Popen[bytes]":
    module = [sys.executable, "-m", "contract_tests.event_writer"]
    return subprocess.Popen(
        [*module, customer.account_id, name, str(count), str(pause)], env=gateway.environment
    )


def write(gateway: Gateway, customer: Customer, count: int) -> None:
    with writer(gateway, customer, "w", count) as process:
        assert process.wait(60) == 0


@contextmanager
def deaf(gateway: Gateway, customer: Customer) -> Iterator[None]:
    """A client that requests all events and never reads them."""
    head = "GET /api/events/stream?after=0- HTTP/1.1\r\nHost: x\r\n"
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", gateway.port))
        client.sendall(f"{head}Authorization: Bearer {customer.key}\r\n\r\n".encode())
        yield
