"""The receiver of benchmarks.life, in a separate process.

A life is complete when the message's three events have arrived, in any order and any number of times.
``GET /arrivals/N`` responds when at least N lives are complete, with the time of each end in Unix seconds.
Its key is the message's identifier and time of creation. ``GET /lags/0`` responds with the arrival of each
``message.sent`` in Unix seconds, and the milliseconds since its timestamp.
"""

import asyncio
import json
import re
import sys
import time
from datetime import datetime
from functools import partial

from benchmarks.receivers import Arrivals, Receiver

STEPS = {b"message.sent", b"message.delivered", b"message.read"}
_KIND = re.compile(rb'"event": ?"([^"]+)"')
# That of the message, not of the event.
_IDENTIFIER = re.compile(rb'"id": ?"(?!evt_)([^"]+)"')
_TIMESTAMP = re.compile(rb'"timestamp": ?"([^"]+)"')
_CREATED_AT = re.compile(rb'"createdAt": ?"([^"]+)"')


class Lives(Arrivals):
    """Records an arrival only if it completes a life."""

    def __init__(self) -> None:
        super().__init__()
        self._missing: dict[bytes, set[bytes]] = {}
        # By message: when its event arrived, in Unix seconds, and the milliseconds since its timestamp.
        self._lags: dict[str, tuple[float, float]] = {}

    def note(self, body: bytes) -> None:
        """Record an event that arrived."""
        kind, identifier, created_at = (
            pattern.search(body) for pattern in (_KIND, _IDENTIFIER, _CREATED_AT)
        )
        if kind is None or identifier is None or created_at is None:
            return
        timestamp = _TIMESTAMP.search(body)
        if kind[1] == b"message.sent" and timestamp is not None:
            now = time.time()
            lag = now, 1000 * (now - _unix(timestamp[1]))
            self._lags.setdefault(identifier[1].decode(), lag)
        missing = self._missing.setdefault(identifier[1], set(STEPS))
        missing.discard(kind[1])
        if not missing:
            moment = _unix(created_at[1])
            super().note(json.dumps({"id": f"{identifier[1].decode()} {moment}"}).encode())

    def shown(self, kind: bytes) -> bytes | None:
        """The response to a request for figures of this kind. None if it is no such request."""
        if kind == b"lags":
            return json.dumps([*self._lags.values()]).encode()
        return super().shown(kind)


def _unix(timestamp: bytes) -> float:
    return datetime.fromisoformat(timestamp.decode()).timestamp()


async def serve(port: int) -> None:
    """Receive until the process ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(partial(Receiver, Lives()), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
