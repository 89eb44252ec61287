"""The beginning of a receiver's response body as text, read and decompressed up to a limit."""

import codecs
import zlib

READ_LIMIT = 16 * 1024
KEPT_BYTES = 1024

# The formats as ``wbits`` of zlib: plus 16 means gzip, a negative number deflate without a frame.
GZIP, DEFLATE, BARE_DEFLATE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
FORMATS = {"gzip": GZIP, "x-gzip": GZIP, "deflate": DEFLATE}


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
