"""Rows of CSV files as spreadsheets write them (RFC 4180, with commas, semicolons or tabs)."""

import csv
import re
from collections.abc import Iterator
from io import TextIOWrapper

from services.text_files import Lines, UnreadableError

DELIMITERS = ",;\t"
# What a spreadsheet writes into the first line to name the delimiter.
_MARK = re.compile(r'"?sep=([,;\t])"?', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*("|$)')


class CsvRows:
    """The rows of a text after the first one, which names the columns. Empty rows are left out.

    Raises UnreadableError and UnicodeDecodeError, also while it is iterated.
    """

    def __init__(self, text: TextIOWrapper) -> None:
        self._lines = Lines(text)
        first = next((line for line in self._lines if line.strip(DELIMITERS + " \r\n")), "")
        mark = _MARK.fullmatch(first.rstrip("\r\n"))
        if mark is None:
            self._lines.put_back(first)
        self.delimiter = mark[1] if mark else _delimiter_of(first)
        # Strict: a cell in quotes that does not end would otherwise contain the rows after it.
        self._reader = csv.reader(self._lines, delimiter=self.delimiter, strict=True)
        _, names = next(iter(self), (0, list[str]()))
        self.names = [name.strip() for name in names]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of each row, after the number of its first line."""
        while True:
            line = self._lines.begin_row()
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                raise UnreadableError(
                    f"Line {line}, or a cell in quotes that begins there, is not CSV: {error}."
                ) from None
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield line, cells


def _delimiter_of(line: str) -> str:
    """The most frequent delimiter outside of quotes."""
    return max(DELIMITERS, key=_QUOTED.sub("", line).count)
