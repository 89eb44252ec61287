"""Request bodies: read to their end before anybody works on them, the large ones into a file.

A client that sends slowly so occupies no thread, and a large file no memory.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.types import Message, Receive

MEBIBYTE = 1024 * 1024
# What is held in memory, which is all but uploads; more goes to a nameless file of the temporary directory.
IN_MEMORY = 4 * MEBIBYTE
PIECE = 256 * 1024
# Where the Body of a request stands in its scope.
BODY_KEY = "gateway.body"


class BodyTooLargeError(Exception):
    """The body is larger than the path allows."""


class BodyTooSlowError(Exception):
    """The body did not arrive in time."""


class ClientGoneError(Exception):
    """The client went away before its request was complete."""


class Body:
    """A whole request body of ``size`` bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._memory = bytearray()
        self._file: IO[bytes] | None = None

    async def read(self, receive: Receive, limit: int, drain: int, seconds: float | None) -> None:
        """Take the body in.

        Raises ClientGoneError, BodyTooSlowError after ``seconds``, and BodyTooLargeError past ``limit``
        bytes; then up to ``drain`` bytes were read and thrown away, so that the client gets its answer.
        """
        read, more = 0, True
        try:
            async with asyncio.timeout(seconds):
                while more:
                    chunk, more = await _next_chunk(receive)
                    read += len(chunk)
                    more = more and read <= drain
                    await (self._append(chunk) if read <= limit else self._drop())
        except TimeoutError:
            raise BodyTooSlowError from None
        if read > limit:
            raise BodyTooLargeError
        if self._file is not None:
            await run_in_threadpool(self._spill)
            await run_in_threadpool(self._file.seek, 0)

    def replay(self, receive: Receive) -> Receive:
        """The body once more, as the application receives it: in one message unless it lies in a file."""
        left = self.size
        begun = False

        async def replayed() -> Message:
            nonlocal left, begun
            if begun and not left:
                return await receive()
            begun = True
            if self._file is None:
                piece = bytes(self._memory)
            else:
                piece = await run_in_threadpool(self._file.read, PIECE)
            left -= len(piece)
            return {"type": "http.request", "body": piece, "more_body": left > 0}

        return replayed

    def open(self) -> IO[bytes]:
        """The whole body from its beginning, for a thread to read."""
        if self._file is None:
            return BytesIO(self._memory)
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    async def _append(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._memory += chunk
        if len(self._memory) > IN_MEMORY:
            # In a thread: a disk that is slow must not hold up every other request.
            await run_in_threadpool(self._spill)

    async def _drop(self) -> None:
        self.close()
        self._file = None
        self._memory.clear()

    def _spill(self) -> None:
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115 - close() closes it
        self._file.write(self._memory)
        self._memory.clear()


async def _next_chunk(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), message.get("more_body", False)


async def whole(receive: Receive) -> bytes:
    """The body of a request that the edge has read to its end already."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


@contextmanager
def new_body() -> Iterator[Body]:
    """A body that is gone afterwards."""
    body = Body()
    try:
        yield body
    finally:
        body.close()
