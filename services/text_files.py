"""Uploaded files as text: their encoding, and bounded lines, so that memory does not grow with a file."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from io import TextIOWrapper
from typing import IO

# Characters. A cell in quotes that does not end would otherwise be read until the end of the file.
MOST_IN_ROW = 256 * 1024
# Bytes that are decoded together, which takes less than a millisecond.
_DECODED_TOGETHER = 256 * 1024


class Encoding(StrEnum):
    """The encodings of files, by their names at IANA."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    WINDOWS_1252 = "windows-1252"
    ISO_8859_1 = "iso-8859-1"


class UnreadableError(ValueError):
    """A part of a file cannot be read, so the rest cannot either. The message names the line."""


def encoding_of(file: IO[bytes]) -> Encoding | None:
    """The first encoding in which the whole file is text. None if it is not a text.

    UTF-16 needs its byte order mark. Any bytes but NUL are text in ISO-8859-1.
    """
    file.seek(0)
    if file.read(2) in {BOM_UTF16_LE, BOM_UTF16_BE}:
        return Encoding.UTF_16 if _is_text(file, Encoding.UTF_16) else None
    if _contains_nul(file):
        return None
    return next(each for each in Encoding if each != Encoding.UTF_16 and _is_text(file, each))


@contextmanager
def text_of(file: IO[bytes], encoding: str) -> Iterator[TextIOWrapper]:
    """The file as text from its beginning, without a byte order mark. It stays open afterwards."""
    file.seek(0)
    # An empty newline leaves line ends as they are, as the module csv needs them.
    codec = "utf-8-sig" if encoding == Encoding.UTF_8 else encoding
    text = TextIOWrapper(file, codec, newline="")
    try:
        yield text
    finally:
        text.detach()


class Lines:
    """The lines of a text. Raises UnreadableError if those of a row are too long together."""

    def __init__(self, text: TextIOWrapper) -> None:
        self._text = text
        self._again = ""
        self._count = 0
        self._left = MOST_IN_ROW

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        # Not the iterator of the text, which reads lines of any length.
        line, self._again = self._again or self._text.readline(self._left), ""
        if not line:
            raise StopIteration
        self._left -= len(line)
        self._count += 1
        if self._left <= 0:
            raise UnreadableError(
                f"Line {self._count} is, or ends, a row of {MOST_IN_ROW:,} characters or more. Shorten it."
            )
        return line

    def put_back(self, line: str) -> None:
        """Return the last line again."""
        if line:
            self._again = line
            self._count -= 1

    def begin_row(self) -> int:
        """Begin a row. Returns the number of its first line."""
        self._left = MOST_IN_ROW
        return self._count + 1


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    return iter(lambda: file.read(_DECODED_TOGETHER), b"")


def _contains_nul(file: IO[bytes]) -> bool:
    return any(b"\0" in part for part in _parts(file))


def _is_text(file: IO[bytes], encoding: Encoding) -> bool:
    decoder = getincrementaldecoder(encoding)()
    try:
        for part in _parts(file):
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
