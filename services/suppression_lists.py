"""Imports and exports the suppressions of an account as CSV (RFC 4180).

An import reads the file twice: nothing is stored before all lines are checked. Then it stores them in short
transactions with pauses, so that other writers do not wait long for any of them.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import IO, NamedTuple

from models import clock
from models.accounts.account import Account, ConsentScope
from models.accounts.audit import Audit
from models.clock import timestamp
from models.database import exclusively
from models.errors import ConflictError, InvalidError
from models.messages.contact import Contact, Source
from models.messages.suppression import (
    EVERYWHERE,
    Statement,
    Suppression,
    digests_of,
    salt,
    scope_of,
)
from models.messages.suppression_list import Entry, add_many, listed
from models.numbers.number import Number
from services import consent
from services.csv_cells import FORMULA, as_csv, as_text
from services.csv_rows import CsvRows
from services.fair_share import Share
from services.phone_numbers import person_of
from services.text_files import Encoding, UnreadableError, text_of

PERSON_COLUMN = "person"
COLUMNS = (PERSON_COLUMN, "numberId", "reason", "source", "time")
# The name of a column that the first line does not name.
SURPLUS = ""
# Of a file, and of an account.
MOST_LINES, MOST_SUPPRESSIONS = 2_000_000, 5_000_000
MOST_REASON = 200
MOST_SHOWN = 10
# Lines of a transaction, which takes some 20 ms, and the pause after it, in seconds.
BATCH, PAUSE_SECONDS = 1_000, 0.002
# Lines that are sorted by their digests first: a transaction then writes few pages of the index. They take
# some 15 MB.
SORTED_TOGETHER = 50_000
# Contacts that are looked up together, and those that change in one transaction.
MOST_CONTACTS, MOST_CHANGED = 500, 20
EXPORTED_TOGETHER = 1_000
# An import takes up to a minute and a thread, and those of one account could exceed its maximum together.
IMPORTS = Share("imports of suppressions", 1, 3)
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


class Imported(NamedTuple):
    """The lines of a list, those that suppressed a person, and those that changed nothing."""

    rows: int
    added: int
    known: int


def load(account_id: str, file: IO[bytes]) -> Imported:
    """Suppress the people of a file. Raises DomainError, and then stores nothing.

    If it is interrupted, a repetition adds what is missing.
    """
    with IMPORTS.of(account_id):
        return _load(account_id, file)


def _load(account_id: str, file: IO[bytes]) -> Imported:
    lines = _Lines(Account.get_by_id(account_id))
    rows = lines.check(file)
    # Counting millions takes long, so it holds up no other writer.
    _check_room(account_id, rows)
    _begin(account_id, rows)
    added, entries = 0, lines.entries(file)
    account = Account.get_by_id(account_id)
    while some := list(islice(entries, SORTED_TOGETHER)):
        digests = digests_of(account, [entry.person for entry in some])
        found = sorted(zip(digests, some, strict=True), key=itemgetter(0))
        for first in range(0, len(found), BATCH):
            added += _add(account, found[first : first + BATCH])
            time.sleep(PAUSE_SECONDS)
    _apply_to_contacts(account_id)
    return Imported(rows, added, rows - added)


def _check_room(account_id: str, rows: int) -> None:
    if (count := Suppression.count(account_id)) + rows > MOST_SUPPRESSIONS:
        raise ConflictError(
            f"The account has {count:,} suppressions. With the {rows:,} of the file it would have more than"
            f" {MOST_SUPPRESSIONS:,}. Nothing was imported. End those that are no longer needed."
        )


@exclusively
def _begin(account_id: str, rows: int) -> None:
    salt(Account.get_by_id(account_id))
    Audit.record(account_id, "suppressions.imported", account_id, after={"rows": rows})


@exclusively
def _add(account: Account, entries: Sequence[tuple[str, Entry]]) -> int:
    return add_many(account.id, entries, Source.IMPORT)


class _Lines:
    """Reads the lines of a file for an account."""

    def __init__(self, account: Account) -> None:
        self._are_apart = account.consent_scope == ConsentScope.NUMBER
        self._number_ids = Number.ids_of(account.id)
        # A line without a time is a statement of now.
        self._now = clock.now()

    def check(self, file: IO[bytes]) -> int:
        """The number of lines with a person. Raises InvalidError with the first wrong lines."""
        count, wrong, shown = 0, 0, list[str]()
        for count, (line, cells) in enumerate(_rows_of(file), 1):
            if count > MOST_LINES:
                raise InvalidError(
                    _nothing(f"The file has more than {MOST_LINES:,} lines. Split it."),
                    field="/file",
                )
            if count % BATCH == 0:
                # Otherwise the other threads would wait for the interpreter.
                time.sleep(PAUSE_SECONDS)
            try:
                self._entry(cells)
            except ValueError as error:
                wrong += 1
                if wrong <= MOST_SHOWN:
                    shown.append(f"Line {line}: {error}")
        if wrong:
            more = f" {wrong - MOST_SHOWN:,} more lines are wrong." if wrong > MOST_SHOWN else ""
            raise InvalidError(_nothing(" ".join(shown) + more), field="/file")
        return count

    def entries(self, file: IO[bytes]) -> Iterator[Entry]:
        """The lines of a checked file."""
        return (self._entry(cells) for _, cells in _rows_of(file))

    def _entry(self, cells: Mapping[str, str]) -> Entry:
        """A line. Raises ValueError."""
        if SURPLUS in cells:
            raise ValueError("it has more columns than the first line.")
        return Entry(
            _person(cells.get(PERSON_COLUMN, "")),
            self._number_id(cells.get("numberId", "").strip()),
            _reason(cells.get("reason", "").strip()),
            self._time(cells.get("time", "").strip()),
        )

    def _number_id(self, text: str) -> str:
        if not text:
            return EVERYWHERE
        if not self._are_apart:
            raise ValueError("numberId must be empty: an opt-out holds for all numbers here.")
        if text not in self._number_ids:
            raise ValueError("numberId is no number of this account.")
        return self._number_ids[text]

    def _time(self, text: str) -> int:
        if not text:
            return self._now
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            raise ValueError("time is not ISO 8601 with a time zone, like 2026-11-20T09:30:00Z.")
        at = round(moment.timestamp() * 1000)
        if not 0 < at <= self._now + clock.DAY_MS:
            raise ValueError("time is before 1970 or in the future.")
        return min(at, self._now)


def _person(text: str) -> str:
    if (person := person_of(text)) is None:
        raise ValueError(
            "person is neither a phone number with its country code (7 to 15 digits, no leading 0) nor"
            " a user id."
        )
    return person


def _reason(text: str) -> str | None:
    if not text:
        return None
    # As the export writes it.
    plain = text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text
    if len(plain) > MOST_REASON:
        raise ValueError(f"reason has {len(plain)} characters. Shorten it to {MOST_REASON}.")
    return UNPRINTABLE.sub(" ", plain)


def _rows_of(file: IO[bytes]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows with their numbers of lines. Raises InvalidError."""
    try:
        with text_of(file, Encoding.UTF_8) as text:
            rows = CsvRows(text)
            _check_names(rows.names)
            for line, cells in rows:
                known = dict(zip(rows.names, cells, strict=False))
                yield line, known if len(cells) <= len(rows.names) else known | {SURPLUS: ""}
    except UnicodeDecodeError:
        raise InvalidError(_nothing("The file is not UTF-8."), field="/file") from None
    except UnreadableError as error:
        raise InvalidError(_nothing(str(error)), field="/file") from None


def _check_names(names: Sequence[str]) -> None:
    wrong = sorted({*names} - {*COLUMNS})
    if PERSON_COLUMN not in names or wrong or len({*names}) < len(names):
        raise InvalidError(
            _nothing(
                f"The first line must name the columns: {PERSON_COLUMN}, and if you like"
                f" {', '.join(COLUMNS[1:])}, each once."
            ),
            field="/file",
        )


def _nothing(problem: str) -> str:
    return f"Request body, file: {problem} Nothing was imported."


def _apply_to_contacts(account_id: str) -> None:
    """Opt out the contacts of suppressed people."""
    last = ""
    while rows := Contact.walk(account_id, last, MOST_CONTACTS):
        last = rows[-1].id
        found = iter(_suppressed(Account.get_by_id(account_id), rows))
        while some := list(islice(found, MOST_CHANGED)):
            _opt_out(account_id, some)
            time.sleep(PAUSE_SECONDS)


def _suppressed(account: Account, contacts: Iterable[Contact]) -> Iterator[Contact]:
    """Those whose opt-out they do not show yet."""
    people = {contact.id: contact.identifiers for contact in contacts if not contact.is_out}
    everyone = sorted(set().union(*people.values()))
    digest_of = dict(zip(everyone, digests_of(account, everyone), strict=True))
    rows: dict[str, list[Suppression]] = {}
    for row in Suppression.known(account, everyone):
        rows.setdefault(row.digest, []).append(row)
    for contact in contacts:
        theirs = [row for p in people.get(contact.id, ()) for row in rows.get(digest_of[p], ())]
        latest = contact.latest(theirs, account)
        if latest is not None and latest.is_out:
            yield contact


@exclusively
def _opt_out(account_id: str, contacts: Iterable[Contact]) -> None:
    account = Account.get_by_id(account_id)
    for contact in contacts:
        rows = Suppression.known(account, contact.identifiers)
        latest = contact.latest(rows, account)
        # It may have changed since.
        if latest is not None and latest.is_out:
            said = Statement(
                out=True, number_id=latest.number_id, source=latest.source, at=latest.at
            )
            consent.say(account_id, contact.identifiers, said)


def dump(account_id: str) -> Iterator[bytes]:
    """The suppressions of an account as CSV, in parts. Those of erased people are left out."""
    yield as_csv([COLUMNS]).encode()
    last, account = "", Account.get_by_id(account_id)
    while rows := listed(account_id, last, EXPORTED_TOGETHER):
        last = rows[-1][0]
        yield as_csv(_cells(account, *values) for _, *values in rows).encode()


def _cells(
    account: Account, person: str, number_id: str, reason: str | None, source: str, at: int
) -> tuple[str, ...]:
    shown = as_text(reason or "")
    return person, scope_of(account, number_id), shown, source, timestamp(at)
