"""Reads one response of a receiver. Its status decides, and no error after the headers.

It accepts each status line and header that curl or Go's client accepts, because a stricter reader would blame
receivers that work. A connection is used again only if the end of its response is certain.
"""

import codecs
import re
import zlib
from collections.abc import Mapping, Sequence
from enum import Enum, auto

PREFIX = b"HTTP/"
_STATUS_LINE = re.compile(rb"HTTP/(?:\w\.(\w)|2) +([1-9]\d\d)(?!\d)", re.IGNORECASE)
# The size of a chunk and its extensions.
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_HEAD_END = re.compile(rb"\n\r?\n")
_LENGTH = re.compile(rb"\d{1,18}")
_LIMITS = re.compile(rb"\b(timeout|max)\s*=\s*\"?(\d{1,9})", re.IGNORECASE)
# The headers that are used. All others are skipped.
_LENGTHS, _CODINGS, _CONNECTION = b"content-length", b"transfer-encoding", b"connection"
_KEEP_ALIVE, _ENCODING, _RETRY_AFTER = b"keep-alive", b"content-encoding", b"retry-after"
_USED = {_LENGTHS, _CODINGS, _CONNECTION, _KEEP_ALIVE, _ENCODING, _RETRY_AFTER}
_INTERIM_END, _SWITCHING = 200, 101
_WITHOUT_BODY = (_SWITCHING, 204, 304)
# A receiver closes an idle connection after the time that it announces. The request needs time to arrive.
_MARGIN_SECONDS = 1.0
# How much of the body is read, and how much of that is kept.
READ_LIMIT = 16 * 1024
KEPT_BYTES = 1024

# The formats as ``wbits`` of zlib: plus 16 means gzip, a negative number deflate without a frame.
GZIP, DEFLATE, BARE_DEFLATE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
FORMATS = {"gzip": GZIP, "x-gzip": GZIP, "deflate": DEFLATE}

Fields = Mapping[bytes, Sequence[bytes]]


class NotHttpError(Exception):
    """The receiver sent something else than HTTP."""


class Excerpt:
    """Collects the bytes of a response. Never raises: a body that it cannot decompress stays compressed."""

    def __init__(self, encoding: str) -> None:
        """``encoding`` is the header Content-Encoding. It may be empty or unknown."""
        self._format = FORMATS.get(encoding.strip().lower())
        self._unpacker = None if self._format is None else zlib.decompressobj(self._format)
        self._came = bytearray()
        self._unpacked = bytearray()

    @property
    def room(self) -> int:
        """How many more bytes to read, 0 if the compressed or decompressed bytes have reached the limit."""
        if len(self._unpacked) >= READ_LIMIT:
            return 0
        return READ_LIMIT - len(self._came)

    def add(self, chunk: bytes) -> None:
        """Add at most ``room`` bytes."""
        self._came += chunk
        if self._unpacker is None:
            return
        try:
            # A limit, because a few bytes may decompress to gigabytes.
            limit = READ_LIMIT - len(self._unpacked)
            self._unpacked += self._unpacker.decompress(chunk, limit)
        except zlib.error:
            self._retry_without_frame()

    def _retry_without_frame(self) -> None:
        """Try deflate without its frame, which some servers send. Other bodies stay compressed."""
        came, self._came = bytes(self._came), bytearray()
        self._unpacker = zlib.decompressobj(BARE_DEFLATE) if self._format == DEFLATE else None
        self._format = None
        self.add(came)

    def text(self) -> str:
        """The first KEPT_BYTES as text, with invalid UTF-8 replaced."""
        done = self._unpacker is not None and self._unpacker.eof
        body = self._unpacked if self._unpacked or done else self._came
        if not body:
            return ""
        # A character that the limit cuts in two is omitted.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return decoder.decode(bytes(body[:KEPT_BYTES]), final=len(body) <= KEPT_BYTES)


class _Next(Enum):
    SIZE = auto()
    DATA = auto()
    END_OF_DATA = auto()
    TRAILER = auto()


class Chunks:
    """Decodes the chunks of a body (RFC 9112, section 7.1), whose lines may end with a bare LF.

    ``is_over`` after the last chunk and its trailers. ``is_broken`` without chunks, or if more follows.
    """

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


class Response:
    """The response to one request. ``status`` is the final one, None until its headers have arrived."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.received = 0
        # Whether nothing more has to be read.
        self.is_complete = False
        # How long the receiver keeps the connection, in seconds. None if it announced no time.
        self.kept_seconds: float | None = None
        # The header Retry-After as it came. Empty if there was none, or several.
        self.retry_after = ""
        self._may_be_kept = False
        self._head = bytearray()
        self._excerpt = Excerpt("")
        self._chunks: Chunks | None = None
        # The missing bytes of the body. None if it ends with the connection or with a chunk.
        self._left: int | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether the response ended exactly, and the receiver keeps the connection."""
        return self.is_complete and self._may_be_kept

    def text(self) -> str:
        """The beginning of the body."""
        return self._excerpt.text()

    def feed(self, data: bytes) -> None:
        """Read the next bytes. Raises NotHttpError."""
        self.received += len(data)
        rest: bytes | None = data
        while rest and self.status is None:
            rest = self._read_head(rest)
        if rest:
            self._read_body(rest)

    def end(self) -> None:
        """The connection ended. An incomplete body is no failure."""
        self._may_be_kept = False
        self.is_complete = self.status is not None

    def _read_head(self, data: bytes) -> bytes | None:
        """Read a head, final or not. Returns the bytes after it, None if it is incomplete."""
        searched = max(0, len(self._head) - 2)
        self._head += data
        if not PREFIX.startswith(self._head[: len(PREFIX)].upper()):
            raise NotHttpError
        found = _HEAD_END.search(self._head, searched)
        if found is None:
            if b"\n" in data and _STATUS_LINE.match(self._head) is None:
                raise NotHttpError
            return None
        head, rest = bytes(self._head[: found.start()]), bytes(self._head[found.end() :])
        self._head.clear()
        if (line := _STATUS_LINE.match(head)) is None:
            raise NotHttpError
        status = int(line[2])
        if status >= _INTERIM_END or status == _SWITCHING:
            self.status = status
            self._plan_body(_fields(head), is_old=line[1] == b"0")
        return rest

    def _plan_body(self, fields: Fields, *, is_old: bool) -> None:
        """Find out where the body ends, and whether the connection may be kept then."""
        self._excerpt = Excerpt(b"".join(fields.get(_ENCODING, ())).decode("latin-1"))
        lengths, codings = fields.get(_LENGTHS, ()), fields.get(_CODINGS, ())
        self._may_be_kept = self._is_kept(fields, is_old=is_old)
        if len(asked := fields.get(_RETRY_AFTER, ())) == 1:
            self.retry_after = asked[0].decode("latin-1")
        if self.status in _WITHOUT_BODY:
            self._may_be_kept &= not codings and set(lengths) <= {b"0"}
            self._left = 0
        elif codings:
            self._may_be_kept &= [each.lower() for each in codings] == [b"chunked"] and not lengths
            self._chunks = Chunks()
        elif not lengths:
            self._may_be_kept = False
            return
        elif len(set(lengths)) == 1 and _LENGTH.fullmatch(lengths[0]):
            self._left = int(lengths[0])
        else:
            # Nobody knows where it ends. What came with the headers is enough.
            self._may_be_kept = False
            self.is_complete = True
        self.is_complete |= self._left == 0

    def _is_kept(self, fields: Fields, *, is_old: bool) -> bool:
        named = b",".join(fields.get(_CONNECTION, ())).lower()
        limits = {
            name.lower(): int(number)
            for name, number in _LIMITS.findall(b",".join(fields.get(_KEEP_ALIVE, ())))
        }
        if b"timeout" in limits:
            self.kept_seconds = max(0.0, limits[b"timeout"] - _MARGIN_SECONDS)
        is_kept = b"keep-alive" in named if is_old else b"close" not in named
        return is_kept and self.status != _SWITCHING and limits.get(b"max") != 0

    def _read_body(self, data: bytes) -> None:
        if self._left is not None:
            body, after = data[: self._left], len(data) > self._left
            self._left -= len(body)
            self.is_complete = self._left == 0
        elif self._chunks is not None:
            body = self._chunks.feed(data, self._excerpt.room)
            after = self._chunks.is_broken
            self.is_complete = self._chunks.is_over or after
        else:
            body, after = data, False
        if after:
            self._may_be_kept = False
        self._excerpt.add(body[: self._excerpt.room])
        if not self._excerpt.room and not self.is_complete:
            self.end()


def _fields(head: bytes) -> Fields:
    """The values of the headers that are used, by lowercase name. Folded lines are joined."""
    found: dict[bytes, list[bytes]] = {}
    name = b""
    for line in head.split(b"\n")[1:]:
        if line[:1] in {b" ", b"\t"}:
            if name in _USED:
                found[name][-1] = (found[name][-1] + b" " + line.strip()).strip()
            continue
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        if name in _USED:
            found.setdefault(name, []).append(value.strip())
    return found
