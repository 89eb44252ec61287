"""Parses server-sent events (HTML, section Server-sent events) from bytes that come in any pieces.

Only CR and LF end a line. ``str.splitlines`` and many libraries also split at U+2028 and others, which a text
in an event may contain.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# More than an event can have.
MAX_BLOCK = 4 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


class StreamError(Exception):
    """The connection is broken. The text says why."""


class Block(NamedTuple):
    """The lines up to a blank one. ``id`` and ``data`` are None if there are no such lines."""

    id: str | None
    data: bytes | None


def blocks_of(chunks: Iterator[bytes]) -> Iterator[Block]:
    """The blocks that have an id or data. One without an end is skipped, because it was cut off.

    Raises StreamError.
    """
    last_id, data, size = None, [], 0
    for line in _lines_of(chunks):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        size += len(line)
        if size > MAX_BLOCK:
            raise StreamError("an event is too long")
        if name == b"data":
            data.append(value)
        elif name == b"id" and b"\0" not in value:
            last_id = value.decode("latin-1")
        elif not line:
            if data or last_id is not None:
                yield Block(last_id, b"\n".join(data) if data else None)
            last_id, data, size = None, [], 0


def _lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines without their ends. Raises StreamError."""
    rest, is_begin, was_return = b"", True, False
    for chunk in chunks:
        # The LF of a CRLF may come in the next chunk.
        more = chunk[1:] if was_return and chunk[:1] == b"\n" else chunk
        was_return = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(rest + more)
        for line in lines:
            yield line.removeprefix(BYTE_ORDER_MARK) if is_begin else line
            is_begin = False
        if len(rest) > MAX_BLOCK:
            raise StreamError("an event is too long")
