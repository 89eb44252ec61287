"""Receivers for the benchmarks, in a separate process. They report when each event arrived.

``/ok/N`` responds at once, ``/hang/N`` never, ``/slow/N`` after 9 s, ``/after/MS`` after so many ms.

``/limit/RATE`` accepts so many requests in each second, and responds to others with 429. The responses of
``/limit/RATE/SECONDS`` have Retry-After.

``GET /arrivals/N`` responds when at least N events have arrived, with the time of each event's first arrival
in Unix seconds, by its identifier. Events that got 429 have not arrived. ``GET /refused/`` responds with the
number of responses with 429.

A bare protocol, because the receiver's CPU time is lost to the contenders.
"""

import asyncio
import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

SLOW_SECONDS = 9
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
# That of the message, not of the event.
_IDENTIFIER = re.compile(rb'"id": ?"(?!evt_)([^"]+)"')


@dataclass
class Arrivals:
    """The arrival of each event, and the requests that wait for a number of them."""

    times: dict[str, float] = field(default_factory=dict)
    waiting: list[tuple[int, asyncio.Transport]] = field(default_factory=list)
    # The requests of the current second at a limit, and all that were above it.
    in_second: Counter[int] = field(default_factory=Counter)
    refused: int = 0

    def is_above(self, limit: int) -> bool:
        """Count a request, and whether it is above the limit of its second."""
        second = int(time.time())
        is_above = self.in_second[second] >= limit
        self.in_second[second] += not is_above
        self.refused += is_above
        return is_above

    def note(self, body: bytes) -> None:
        """Record an event that arrived."""
        found = _IDENTIFIER.search(body)
        if found is not None:
            self.times.setdefault(found[1].decode(), time.time())
        if self.waiting:
            self.tell()

    def shown(self, kind: bytes) -> bytes | None:
        """The response to a request for figures of this kind. None if it is no such request."""
        return b"%d" % self.refused if kind == b"refused" else None

    def tell(self) -> None:
        """Respond to the requests whose number has been reached."""
        ready = [asker for count, asker in self.waiting if count <= len(self.times)]
        self.waiting = [each for each in self.waiting if each[0] > len(self.times)]
        for asker in ready:
            asker.write(_answer(json.dumps(self.times).encode()))


class Receiver(asyncio.Protocol):
    """One connection, kept open."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        found = _LENGTH.search(head)
        length = int(found[1]) if found else 0
        if len(rest) < length:
            return
        # A client sends its next request after this response, so nothing follows the body.
        self._received = b""
        self._receive(head, rest)

    def _receive(self, head: bytes, body: bytes) -> None:
        _, kind, argument = head.split(b" ", 2)[1].split(b"/", 2)
        if self._transport is None:
            return
        if kind == b"arrivals":
            self._arrivals.waiting.append((int(argument), self._transport))
            self._arrivals.tell()
            return
        if (shown := self._arrivals.shown(kind)) is not None:
            self._transport.write(_answer(shown))
            return
        if kind == b"limit":
            limit, _, seconds = argument.partition(b"/")
            if self._arrivals.is_above(int(limit)):
                after = b"Retry-After: %b\r\n" % seconds if seconds else b""
                self._transport.write(_answer(b"", b"429 Too Many Requests", after))
                return
        self._arrivals.note(body)
        if kind in (b"ok", b"limit"):
            self._transport.write(_answer(b""))
        elif kind == b"after":
            loop = asyncio.get_running_loop()
            loop.call_later(
                int(argument.partition(b"/")[0]) / 1000, self._transport.write, _answer(b"")
            )
        elif kind == b"slow":
            loop = asyncio.get_running_loop()
            loop.call_later(SLOW_SECONDS, self._transport.write, _answer(b""))


def _answer(body: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


async def serve(port: int) -> None:
    """Receive until the process ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        partial(Receiver, Arrivals()), "127.0.0.1", port, backlog=1024
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
