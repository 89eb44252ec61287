"""A relay to the network that spoils some sends: it cuts their connection, or answers them wrongly."""

import itertools
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from contract_tests.relay import Ends, Relay

SEND = b"/messages HTTP/1.1\r\n"
HTML = b"<html><body><h1>Bad gateway</h1></body></html>"
CUT_JSON = b'{"messaging_product":"whatsapp","contacts":[{"input":"491510'


def _answer(status: str, content_type: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}"
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + body


@dataclass(frozen=True)
class Spoil:
    """A way to spoil a send. ``instead`` is what the client reads instead of the response.

    None: the network never gets the request.
    """

    name: str
    instead: bytes | None


CUTS = (Spoil("cut before it is accepted", None), Spoil("cut after it is accepted", b""))
WRONG = (
    Spoil("answered 500 without JSON", _answer("500 Internal Server Error", "text/html", HTML)),
    Spoil("answered 200 with HTML", _answer("200 OK", "text/html", HTML)),
    Spoil("answered 200 with cut JSON", _answer("200 OK", "application/json", CUT_JSON)),
)


class Liar(Relay):
    """Forwards everything. While it spoils, it ends the connection of each spoiled send."""

    def __init__(self, target_port: int) -> None:
        self._sends = itertools.count(1)
        self._every, self._instead = sys.maxsize, CUTS[0].instead
        self._owed: dict[socket.socket, bytes] = {}
        self.spoiled = 0
        super().__init__(target_port)

    @contextmanager
    def spoiling(self, how: Spoil, every: int) -> Iterator[None]:
        """Spoil one send in ``every`` while the block runs."""
        self._instead, self._every = how.instead, every
        try:
            yield
        finally:
            self._every = sys.maxsize

    def _forward(self, data: bytes, ends: Ends) -> bool:
        source, sink = ends
        if source in self._owed:
            # The network accepted the message.
            sink.sendall(self._owed.pop(source))
            return False
        if SEND in data and next(self._sends) % self._every == 0:
            self.spoiled += 1
            if self._instead is None:
                return False
            self._owed[sink] = self._instead
        return super()._forward(data, ends)
