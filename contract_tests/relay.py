"""A relay between the gateway and its network or a server that a test can cut, and the sandbox behind it."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import requests

from contract_tests.harness import WAIT_SECONDS, Gateway

HOST = "127.0.0.1"
# The end that data come from, and the end that they go to.
Ends = tuple[socket.socket, socket.socket]


class Relay:
    """Forwards TCP connections to a port of this machine until a test stops it."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._ends: list[socket.socket] = []
        self._swallows = False
        self.swallowed = threading.Event()
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._listen()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self.cut()

    def in_front_of(self, url: str) -> str:
        """A URL of the server, with this port."""
        return url.replace(f":{self._target_port}/", f":{self.port}/")

    def cut(self) -> None:
        """Close all connections and refuse new ones."""
        for end in (self._listener, *self._ends):
            _close(end)
        self._ends.clear()

    def swallow(self) -> None:
        """Accept the gateway's data and forward nothing: the network gets no request."""
        self.swallowed.clear()
        self._swallows = True

    def hold(self) -> None:
        """Accept data from both ends and forward nothing until ``release()``."""
        self._flows.clear()

    def release(self) -> None:
        """Forward the held data in order."""
        self._flows.set()

    def restore(self) -> None:
        """Discard swallowed and held data, and listen again at the same port."""
        self.cut()
        self._swallows = False
        self._flows.set()
        self._listener = socket.create_server((HOST, self.port))
        self._listen()

    def _listen(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._connect(listener.accept()[0])

    def _connect(self, gateway: socket.socket) -> None:
        try:
            network = socket.create_connection((HOST, self._target_port))
        except OSError:
            _close(gateway)
            return
        self._ends += [gateway, network]
        for end in (gateway, network):
            # Each write is forwarded as it comes.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for ends in ((gateway, network), (network, gateway)):
            threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := self._receive(source):
                self._flows.wait()
                if self._swallows:
                    self.swallowed.set()
                elif not self._forward(data, (source, sink)):
                    break
        _close(source)
        _close(sink)

    def _forward(self, data: bytes, ends: Ends) -> bool:
        """Forward data from the first end to the second. Returns whether the connection continues."""
        _, sink = ends
        sink.sendall(data)
        return True

    def _receive(self, source: socket.socket) -> bytes:
        """The next data of a connection, empty at its end."""
        return source.recv(65_536)


def _close(end: socket.socket) -> None:
    """Close a socket, and wake the thread that waits for it."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def relayed(folder: Path) -> Iterator[tuple[Gateway, Relay]]:
    """A running gateway whose connection to the sandbox can be cut."""
    gateway = Gateway(folder)
    relay = Relay(gateway.sandbox_port)
    gateway.environment["GATEWAY_NETWORK_URL"] = f"http://{HOST}:{relay.port}"
    gateway.start()
    try:
        yield gateway, relay
    finally:
        gateway.stop()
        relay.cut()


def accepted(gateway: Gateway, recipient: str) -> list[dict[str, Any]]:
    """The messages to a recipient that the sandbox accepted, in order."""
    return [message for message in gateway.accepted() if message["to"] == recipient]


@contextmanager
def behaving(gateway: Gateway, **knobs: float) -> Iterator[None]:
    """The sandbox with other settings while the block runs."""
    url = f"{gateway.sandbox}/_sandbox/behaviour"
    before = requests.get(url, timeout=WAIT_SECONDS).json()
    requests.put(url, json=knobs, timeout=WAIT_SECONDS).raise_for_status()
    try:
        yield
    finally:
        requests.put(url, json=before, timeout=WAIT_SECONDS).raise_for_status()
