"""A network with TLS that breaks an exchange on request: corrupted, cut, reset or never answered."""

import contextlib
import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from contract_tests.harness import Customer, Gateway
from tests.webhooks.authority import Authority

HOST = "localhost"
TIMEOUT_SECONDS = 1.0
PIECE = 65_536
# With this option, close sends RST instead of FIN.
_NO_LINGER = struct.pack("ii", 1, 0)


class How(Enum):
    """The ways to break an exchange."""

    CLOSED = "closed"
    RESET = "reset"
    DAMAGED = "damaged"
    STALLED = "stalled"


@dataclass(frozen=True)
class Break:
    """At most ``request`` bytes are read (None: all), then ``answer`` bytes of the response are sent.

    A negative ``answer`` counts from its end, and a fraction is a share of it. Only a whole request reaches
    the network.
    """

    how: How
    request: int | None = None
    answer: float = 0


class BrokenNetwork:
    """Is in front of the sandbox. ``asked`` counts the requests of which at least one byte arrived."""

    def __init__(self, target_port: int, folder: Path) -> None:
        authority = Authority(folder)
        self._context = authority.server_context(HOST)
        self.bundle = authority.bundle()
        self._target_port = target_port
        self.plan: Break | None = None
        self.asked = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Close all connections and stop listening."""
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            line = _Line(connection, self._context)
            while True:
                head = line.read()
                if not head:
                    return
                plan = self.plan
                self.asked += 1
                if plan is not None and plan.request is not None:
                    _break(line, plan)
                    return
                answer = self._ask(_whole(line, head))
                if plan is not None:
                    line.write(answer[: _place(plan.answer, len(answer))])
                    _break(line, plan)
                    return
                line.write(answer)

    def _ask(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self._target_port)) as network:
            network.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            return b"".join(iter(lambda: network.recv(PIECE), b""))


class _Line:
    """One side of a TLS connection, whose records a test can corrupt."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self.socket = connection
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._until_done(self._tls.do_handshake)

    def read(self) -> bytes:
        return self._until_done(lambda: self._tls.read(PIECE)) or b""

    def write(self, data: bytes) -> None:
        if data:
            self._tls.write(data)
            self.socket.sendall(self._out.read())

    def write_damaged(self) -> None:
        self._tls.write(b"HTTP/1.1 200 OK\r\n\r\n")
        record = bytearray(self._out.read())
        record[-1] ^= 0xFF
        self.socket.sendall(record)

    def _until_done(self, step: object) -> bytes | None:
        while True:
            try:
                done: bytes | None = step()  # type: ignore[operator]
            except ssl.SSLWantReadError:
                self.socket.sendall(self._out.read())
                if not (data := self.socket.recv(PIECE)):
                    raise EOFError from None
                self._in.write(data)
            else:
                self.socket.sendall(self._out.read())
                return done


def _whole(line: _Line, request: bytes) -> bytes:
    """This also reads the rest of the request."""
    while (end := request.find(b"\r\n\r\n")) < 0:
        request += line.read()
    length = re.search(rb"\r\ncontent-length: *(\d+)", request[:end], re.IGNORECASE)
    while len(request) < end + 4 + int(length[1] if length else 0):
        request += line.read()
    return request


def _place(place: float, length: int) -> int:
    if isinstance(place, int):
        return place if place >= 0 else length + place
    return round(place * length)


def _break(line: _Line, plan: Break) -> None:
    match plan.how:
        case How.DAMAGED:
            line.write_damaged()
        case How.STALLED:
            threading.Event().wait(3 * TIMEOUT_SECONDS)
        case How.RESET:
            line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        case How.CLOSED:
            pass
    line.socket.close()


@contextmanager
def breaking(folder: Path) -> Iterator[tuple[BrokenNetwork, Customer]]:
    """A customer of a running gateway whose network breaks on request."""
    gateway = Gateway(folder)
    network = BrokenNetwork(gateway.sandbox_port, folder)
    plain = gateway.environment
    gateway.environment = plain | {
        "GATEWAY_NETWORK_URL": f"https://{HOST}:{network.port}",
        "GATEWAY_NETWORK_TIMEOUT": str(TIMEOUT_SECONDS),
        "SSL_CERT_FILE": str(network.bundle),
    }
    gateway.start()
    # The signup goes directly to the sandbox.
    gateway.environment = plain
    try:
        yield network, gateway.customer()
    finally:
        gateway.stop()
        network.close()
