"""Files of recipients as rows of named cells: CSV of spreadsheets, and NDJSON of programs.

The content decides which of both a file is.
"""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from io import TextIOWrapper
from itertools import chain, islice
from typing import IO, Any, NamedTuple, NoReturn

from models.errors import InvalidError, TooLargeError
from services.csv_rows import CsvRows
from services.phone_numbers import person_of
from services.text_files import Encoding, Lines, UnreadableError, encoding_of, text_of

MOST_BYTES = 100 * 1024 * 1024
# In a CSV file, or in an object of NDJSON. The second is in characters.
MOST_COLUMNS, MOST_NAME = 100, 128
_HOW_TO_SAVE = "Save it as CSV: in a spreadsheet, choose Save As and the type CSV UTF-8."
# What other files begin with.
_OTHER_FILES = {
    b"PK": f"The file is packed, as spreadsheets are (.xlsx). {_HOW_TO_SAVE}",
    b"\xd0\xcf\x11\xe0": f"The file is of an old version of Office (.xls, .doc). {_HOW_TO_SAVE}",
    b"%PDF": f"The file is a PDF. {_HOW_TO_SAVE}",
    b"{\\rtf": f"The file is a formatted text (.rtf). {_HOW_TO_SAVE}",
    b"[": "The file is a JSON array. Save it as CSV, or write each object in a line of its own.",
}
# Control characters other than line breaks, and halves of characters, which JSON can write.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Enough to find the first character that is not blank.
_START = 4_096


class Kind(StrEnum):
    """The kinds of files."""

    CSV = "csv"
    NDJSON = "ndjson"


class WrongRowError(ValueError):
    """A row is wrong, in this column if it is known. ``corrected`` is what the cell certainly means."""

    def __init__(
        self, message: str, column: str | None = None, corrected: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.corrected = corrected


class Row(NamedTuple):
    """The cells of a row by their names, and the line where it begins.

    ``parameters`` are those that an object of NDJSON names so. A row with an error has no cells.
    """

    line: int
    cells: Mapping[str, str] = {}
    parameters: Mapping[str, str] = {}
    error: WrongRowError | None = None


@dataclass(frozen=True)
class Cells:
    """What a file is, its rows, and the names of their cells: of NDJSON those of the first row."""

    kind: Kind
    encoding: Encoding
    delimiter: str | None
    names: Sequence[str]
    rows: Iterator[Row]


@contextmanager
def cells_of(file: IO[bytes]) -> Iterator[Cells]:
    """The cells of a file. Raises DomainError, also while its rows are read."""
    _check_type(file)
    encoding = encoding_of(file)
    if encoding is None:
        raise wrong_file(f"The file is not a text. {_HOW_TO_SAVE}")
    try:
        with text_of(file, encoding) as text:
            first = text.read(_START).lstrip()[:1]
            text.seek(0)
            yield _ndjson(text, encoding) if first == "{" else _csv(text, encoding)
    except UnreadableError as error:
        raise wrong_file(str(error)) from None


def wrong_file(problem: str) -> InvalidError:
    """The error of a file. Nothing of it is stored."""
    return InvalidError(f"Request body, file: {problem}", field="/file")


def clean(text: str) -> str:
    """The text without blanks around it. Control characters other than line breaks become blanks."""
    if (text := text.strip()).isprintable():
        return text
    return _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def _check_type(file: IO[bytes]) -> None:
    """Raises DomainError for a file that is too large, or certainly of another type."""
    if file.seek(0, 2) > MOST_BYTES:
        raise TooLargeError(
            f"Request body, file: it has more than {MOST_BYTES // 1024**2} MiB. Split it."
        )
    file.seek(0)
    start = file.read(_START).removeprefix(BOM_UTF8).lstrip()
    for beginning, problem in _OTHER_FILES.items():
        if start.startswith(beginning):
            raise wrong_file(problem)


def _csv(text: TextIOWrapper, encoding: Encoding) -> Cells:
    table = CsvRows(text)
    names = [_name(name) for name in table.names]
    _check_names(names)
    return Cells(Kind.CSV, encoding, table.delimiter, names, _csv_rows(table, names))


def _name(text: str) -> str:
    """A name in one line."""
    return " ".join(clean(text).split())


def _check_names(names: Sequence[str]) -> None:
    """Raises InvalidError if they cannot name the columns."""
    if not names:
        raise wrong_file("The file is empty. Its first line must name the columns.")
    if any((person_of(name) or "").isdecimal() for name in names):
        raise wrong_file("The first line has a phone number. Name the columns in a line before it.")
    if len(names) > MOST_COLUMNS:
        raise wrong_file(f"The file has {len(names):,} columns. Remove all but {MOST_COLUMNS}.")
    for name, count in Counter(names).items():
        column = f"Column {names.index(name) + 1}"
        if not name:
            raise wrong_file(f"{column} has no name in the first line. Name or remove it.")
        if len(name) > MOST_NAME:
            raise wrong_file(f"{column} has a name of more than {MOST_NAME} characters.")
        if count > 1:
            raise wrong_file(f'{count} columns have the name "{name}". Rename or remove one.')


def _csv_rows(table: CsvRows, names: Sequence[str]) -> Iterator[Row]:
    for line, cells in table:
        if len(cells) == len(names):
            yield Row(line, dict(zip(names, cells, strict=True)))
        else:
            problem = f"The row has {len(cells):,} cells, and the first line {len(names)}."
            yield Row(line, error=WrongRowError(problem))


def _ndjson(text: TextIOWrapper, encoding: Encoding) -> Cells:
    rows = _ndjson_rows(Lines(text))
    first = list(islice(rows, 1))
    names = [name for row in first for name in row.cells]
    return Cells(Kind.NDJSON, encoding, None, names, chain(first, rows))


def _ndjson_rows(lines: Lines) -> Iterator[Row]:
    while True:
        line = lines.begin_row()
        content = next(lines, "")
        if not content:
            return
        if content.strip():
            try:
                yield Row(line, *_members(content))
            except WrongRowError as error:
                yield Row(line, error=error)


def _members(content: str) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of an object, and those of its ``parameters``. Raises WrongRowError."""
    try:
        members = _DECODER.decode(content)
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise WrongRowError("The line is not an object in JSON.")
    parameters = members.pop("parameters", None)
    if not isinstance(parameters, dict | None):
        raise WrongRowError("The member is not an object.", "parameters")
    return _texts(members), _texts(parameters or {})


def _texts(members: Mapping[str, Any]) -> dict[str, str]:
    if len(members) > MOST_COLUMNS:
        raise WrongRowError(f"The object has more than {MOST_COLUMNS} members.")
    return {_member_name(name): _text(name, member) for name, member in members.items()}


def _member_name(given: str) -> str:
    name = _name(given)
    if not 0 < len(name) <= MOST_NAME:
        raise WrongRowError(
            f"The object has a name without or with more than {MOST_NAME} characters."
        )
    return name


def _text(name: str, member: Any) -> str:
    match member:
        case str():
            return member
        case None:
            return ""
        case bool():
            return str(member).lower()
    raise WrongRowError("The member is neither a text nor a number.", _member_name(name))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


# Numbers stay as they are written: 12.50 is a price.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)
