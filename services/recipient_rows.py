"""The recipients of a file, each row checked, and a summary of what is wrong with the others.

Only the recipients already seen and the first errors stay in memory.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from models.errors import InvalidError
from services.phone_numbers import NotARecipientError, check_country, identity_of, recipient_of
from services.recipient_cells import (
    MOST_COLUMNS,
    Cells,
    Kind,
    Row,
    WrongRowError,
    cells_of,
    clean,
    wrong_file,
)
from services.text_files import Encoding

MOST_ROWS = 1_000_000
# Characters of a parameter, and of a reference.
MOST_IN_CELL, MOST_IN_REFERENCE = 1_024, 128
# Errors that a summary has.
MOST_SHOWN = 100
# Names of columns that an error lists.
SHOWN_NAMES = 20
# Rows between two pauses, and a pause in seconds. Otherwise the other threads would wait for the interpreter.
BATCH, PAUSE_SECONDS = 1_000, 0.002
TO, REFERENCE = "to", "reference"
# Usual names of the column with the recipients, as _plain() writes them. If a file has several, the first of
# them counts: messages go to mobile phones, and a number may be one of a customer.
TO_NAMES = (
    *(TO, "whatsapp", "whatsappnumber", "whatsappid", "waid", "msisdn"),
    *("mobile", "mobilenumber", "mobilephone", "mobil", "mobilnummer", "mobiltelefon", "móvil"),
    *("handy", "handynummer", "cell", "cellphone", "cellnumber", "celular"),
    *("phone", "phonenumber", "telephone", "telephonenumber", "tel", "telefon", "telefonnummer"),
    *("teléfono", "telefono", "recipient", "person", "number"),
)
_SEPARATORS = re.compile(r"[\s_.\-]")


class Recipient(NamedTuple):
    """A row that gets a message. Parameters without a text are left out."""

    line: int
    to: str
    reference: str | None
    parameters: dict[str, str]


class RowError(NamedTuple):
    """What is wrong with a row. ``corrected`` is what the cell certainly means, otherwise None."""

    line: int
    column: str | None
    message: str
    corrected: str | None


@dataclass
class Column:
    """How many recipients have no text in a column, and the line of the first of them."""

    empty: int = 0
    first_empty: int | None = None


@dataclass
class Summary:
    """What a file is, and the counts of its rows so far.

    ``rows`` is the sum of ``recipients``, ``duplicates`` and ``wrong``. ``columns`` are those of the
    parameters, and ``errors`` the first ones.
    """

    kind: Kind
    encoding: Encoding
    delimiter: str | None
    to_column: str
    reference_column: str | None
    columns: dict[str, Column]
    rows: int = 0
    recipients: int = 0
    duplicates: int = 0
    wrong: int = 0
    errors: list[RowError] = field(default_factory=list)


@contextmanager
def recipients_of(
    file: IO[bytes], to_column: str | None = None, country: str | None = None
) -> Iterator["RecipientRows"]:
    """The recipients of a file. Raises DomainError, also while they are read.

    Without ``to_column``, a column with a usual name has the recipients. ``country`` is that of phone numbers
    without a country code (ISO 3166).
    """
    if country is not None:
        check_country(country)
    with cells_of(file) as cells:
        yield RecipientRows(cells, _to_column(cells, to_column), country)


class RecipientRows:
    """Iterates over the recipients once, the first row of each."""

    def __init__(self, cells: Cells, to_column: str, country: str | None) -> None:
        # Any object of NDJSON may have a reference, and each may have other parameters.
        names = [REFERENCE] if cells.kind == Kind.NDJSON else cells.names
        others = [name for name in names if name != to_column]
        reference = next((name for name in others if _plain(name) == REFERENCE), None)
        self.summary = Summary(
            cells.kind,
            cells.encoding,
            cells.delimiter,
            to_column,
            reference,
            {name: Column() for name in others if name != reference},
        )
        self._rows = cells.rows
        self._country = country
        self._first_line: int | None = None
        # As integers and bytes, people take half the memory.
        self._seen = set[int | bytes]()

    def __iter__(self) -> Iterator[Recipient]:
        for row in self._rows:
            self._count_row()
            try:
                recipient = self._checked(row)
            except WrongRowError as error:
                self._note(row.line, error)
                continue
            if self._is_new(recipient.to):
                self._count_recipient(recipient)
                yield recipient

    def _count_row(self) -> None:
        self.summary.rows += 1
        if self.summary.rows > MOST_ROWS:
            raise wrong_file(f"The file has more than {MOST_ROWS:,} rows. Split it.")
        if self.summary.rows % BATCH == 0:
            time.sleep(PAUSE_SECONDS)

    def _note(self, line: int, error: WrongRowError) -> None:
        self.summary.wrong += 1
        if len(self.summary.errors) < MOST_SHOWN:
            shown = RowError(line, error.column, error.message, error.corrected)
            self.summary.errors.append(shown)

    def _checked(self, row: Row) -> Recipient:
        """Raises WrongRowError."""
        if row.error is not None:
            raise row.error
        cells = dict(row.cells)
        to = self._to(cells.pop(self.summary.to_column, ""))
        reference = self._reference(cells)
        if twice := cells.keys() & row.parameters.keys():
            raise WrongRowError("The object has two values for this parameter.", min(twice))
        parameters = _parameters(cells) | _parameters(row.parameters)
        if len(parameters.keys() | self.summary.columns.keys()) > MOST_COLUMNS:
            raise WrongRowError(f"The file has more than {MOST_COLUMNS} parameters up to this row.")
        return Recipient(row.line, to, reference, parameters)

    def _to(self, text: str) -> str:
        try:
            return recipient_of(text, self._country)
        except NotARecipientError as error:
            column = self.summary.to_column
            raise WrongRowError(error.message, column, error.corrected) from None

    def _reference(self, cells: dict[str, str]) -> str | None:
        column = self.summary.reference_column
        if column is None:
            return None
        # A reference is one line (Reference in the contract).
        text = clean(cells.pop(column, "")).replace("\n", " ")
        if len(text) > MOST_IN_REFERENCE:
            problem = (
                f"The reference has {len(text):,} characters. Shorten it to {MOST_IN_REFERENCE}."
            )
            raise WrongRowError(problem, column)
        return text or None

    def _is_new(self, to: str) -> bool:
        identity = identity_of(to)
        key = int(identity) if identity.isdecimal() else identity.encode()
        if key in self._seen:
            self.summary.duplicates += 1
            return False
        self._seen.add(key)
        return True

    def _count_recipient(self, recipient: Recipient) -> None:
        columns, given = self.summary.columns, recipient.parameters
        for name in given:
            if name not in columns:
                # Those before had none of it.
                columns[name] = Column(self.summary.recipients, self._first_line)
        self.summary.recipients += 1
        self._first_line = self._first_line or recipient.line
        if len(given) < len(columns):
            for column in (columns[name] for name in columns if name not in given):
                column.empty += 1
                column.first_empty = column.first_empty or recipient.line


def _parameters(cells: Mapping[str, str]) -> dict[str, str]:
    """The cells with a text. Raises WrongRowError."""
    texts = {name: clean(cell) for name, cell in cells.items()}
    for name, text in texts.items():
        if len(text) > MOST_IN_CELL:
            problem = f"The text has {len(text):,} characters. Shorten it to {MOST_IN_CELL:,}."
            raise WrongRowError(problem, name)
    return {name: text for name, text in texts.items() if text}


def _to_column(cells: Cells, given: str | None) -> str:
    """The name of the column with the recipients. Raises InvalidError."""
    if given is not None and (given in cells.names or cells.kind == Kind.NDJSON):
        return given
    # Of two names that differ in case only, the first counts.
    names = {_plain(name): name for name in reversed(cells.names)}
    wanted = TO_NAMES if given is None else [_plain(given)]
    if found := next((names[name] for name in wanted if name in names), None):
        return found
    if cells.kind == Kind.NDJSON:
        return TO
    raise _no_column(cells.names, given)


def _no_column(names: Sequence[str], given: str | None) -> InvalidError:
    some = ", ".join(f'"{name}"' for name in names[:SHOWN_NAMES])
    columns = f"Its columns are {some}{', ...' if len(names) > SHOWN_NAMES else ''}."
    if given is not None:
        problem = f"Query parameter toColumn: the file has no such column. {columns}"
        return InvalidError(problem, field="/toColumn")
    return wrong_file(
        f"No column has a usual name of recipients, such as to or phone. {columns} Rename it, or set"
        " toColumn."
    )


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()
