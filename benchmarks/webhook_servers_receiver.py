"""The receiver of benchmarks.webhook_servers, in a separate process.

Each arrival of an event counts. Its key is the digits of its request (benchmarks.load.FRESH) and how many
times the event has arrived, from 1.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from functools import partial

from benchmarks.receivers import Arrivals, Receiver

# Of a callback's message, and of the recipient of a send.
_DIGITS = re.compile(rb'wamid\.HBgL(\d+)FQ|"toNumber":"(\d{15})"')


class Deliveries(Arrivals):
    """Records every arrival."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()

    def note(self, body: bytes) -> None:
        """Record an event that arrived."""
        found = _DIGITS.search(body)
        if found is None:
            return
        digits = (found[1] or found[2]).decode()
        self._counts[digits] += 1
        super().note(json.dumps({"id": f"{digits} {self._counts[digits]}"}).encode())


async def serve(port: int) -> None:
    """Receive until the process ends."""
    loop = asyncio.get_running_loop()
    receiver = partial(Receiver, Deliveries())
    server = await loop.create_server(receiver, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
