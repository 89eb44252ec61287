"""A receiver that gives the odd answers, each at its own path, on the loop of the test."""

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from tests.webhooks.odd_answers import CLOSE, RESET, Odd

# Closes with a reset instead of a FIN.
_LINGER = struct.pack("ii", 1, 0)


@asynccontextmanager
async def odd_receiver(odds: Sequence[Odd]) -> AsyncIterator[Callable[[Odd], str]]:
    """Serve the answers. Gives the URL of each."""
    server = await asyncio.start_server(lambda r, w: _serve(odds, r, w), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield lambda odd: f"http://127.0.0.1:{port}/{odds.index(odd)}"
    finally:
        server.close()


async def _serve(
    odds: Sequence[Odd], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    assert length is not None
    await reader.readexactly(int(length[1]))
    odd = odds[int(head.split()[1].lstrip(b"/"))]
    writer.write(odd.raw)
    if odd.end == RESET:
        # The answer must have been read: a reset discards what is on its way.
        await asyncio.sleep(0.1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
    elif odd.end != CLOSE:
        await reader.read()
    writer.close()
