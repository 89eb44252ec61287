"""A name server on loopback: real UDP packets, with answers that change between queries."""

import socket
import struct
import threading
from ipaddress import ip_address

SERVER_FAILURE, NAME_ERROR, REFUSED = 2, 3, 5
TYPES = {1: "A", 28: "AAAA"}


class NameServer:
    """Knows the names given to ``know``, and no others. Queries for ``mute`` names get no answer.

    Answers have a time to live of 0, so that nothing is cached.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self._came = threading.Condition()
        self._answers: dict[str, list[list[str]]] = {}
        self._mute: set[str] = set()
        # The code of the refusal by name. ``refused`` refuses all other names that are not known.
        self.refusals: dict[str, int] = {}
        self.refused: int | None = None
        # The time to live of answers in seconds.
        self.ttl = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def know(self, name: str, *answers: list[str]) -> None:
        """Give these answers one after the other. The last one repeats."""
        self._answers[name] = list(answers)

    def mute(self, name: str) -> None:
        """Never answer questions about a name."""
        self._mute.add(name)

    def wait(self, count: int) -> None:
        """Wait until ``count`` different names were queried."""
        with self._came:
            done = self._came.wait_for(lambda: len({name for name, _ in self.asked}) >= count, 10)
        assert done, f"asked for {self.asked} only"

    def close(self) -> None:
        """Stop answering."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, peer = self._socket.recvfrom(4096)
            if not query:
                return
            end = query.index(b"\0", 12) + 5
            name = _read_name(query)
            kind = TYPES.get(struct.unpack("!H", query[end - 4 : end - 2])[0], "other")
            with self._came:
                self.asked.append((name, kind))
                self._came.notify_all()
            if name not in self._mute:
                self._socket.sendto(self._answer(query[:2], query[12:end], name, kind), peer)

    def _answer(self, identifier: bytes, question: bytes, name: str, kind: str) -> bytes:
        known = self._answers.get(name)
        turn = self.asked.count((name, kind)) - 1
        addresses = known[min(turn, len(known) - 1)] if known else []
        packed = [ip_address(address).packed for address in addresses]
        wanted = [raw for raw in packed if len(raw) == {"A": 4, "AAAA": 16}.get(kind)]
        code = self.refusals.get(name, 0 if known else self.refused or NAME_ERROR)
        if code:
            wanted = []
        # Recursion desired and available.
        flags = 0x8180 | code
        records = b"".join(
            b"\xc0\x0c" + question[-4:] + struct.pack("!IH", self.ttl, len(raw)) + raw
            for raw in wanted
        )
        return identifier + struct.pack("!5H", flags, 1, len(wanted), 0, 0) + question + records


def _read_name(query: bytes) -> str:
    labels, at = [], 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode())
        at += 1 + length
    return ".".join(labels).lower()
