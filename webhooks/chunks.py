"""Decodes the chunks of a response body (RFC 9112, section 7.1). Lines may end with a bare LF."""

import re
from enum import Enum, auto

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class _Next(Enum):
    SIZE = auto()
    DATA = auto()
    END_OF_DATA = auto()
    TRAILER = auto()


class Chunks:
    """``is_over`` after the last chunk and its trailers. ``is_broken`` without chunks, or if more follows."""

    def __init__(self) -> None:
        self.is_over = False
        self.is_broken = False
        self._came = bytearray()
        self._next = _Next.SIZE
        # The missing bytes of the current chunk.
        self._left = 0

    def feed(self, data: bytes, room: int) -> bytes:
        """Decode what came. Stops when at least ``room`` bytes are decoded."""
        self._came += data
        body = bytearray()
        while len(body) < room and not (self.is_over or self.is_broken):
            if self._next is _Next.DATA:
                part = self._came[: self._left]
                del self._came[: len(part)]
                body += part
                self._left -= len(part)
                if self._left:
                    break
                self._next = _Next.END_OF_DATA
            elif (line := self._next_line()) is not None:
                self._read_line(line)
            else:
                break
        self.is_broken |= self.is_over and bool(self._came)
        return bytes(body)

    def _next_line(self) -> bytes | None:
        end = self._came.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._came[:end])
        del self._came[: end + 1]
        return line.removesuffix(b"\r")

    def _read_line(self, line: bytes) -> None:
        if self._next is _Next.SIZE:
            size = _SIZE.fullmatch(line)
            self.is_broken = size is None
            self._left = int(size[1], 16) if size else 0
            self._next = _Next.DATA if self._left else _Next.TRAILER
        elif self._next is _Next.END_OF_DATA:
            self.is_broken = bool(line)
            self._next = _Next.SIZE
        else:
            self.is_over = not line
