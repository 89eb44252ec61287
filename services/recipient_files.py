"""Uploads of recipients: those of a file are stored until a broadcast uses them, or for a day."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO

from models import clock
from models.accounts.audit import Audit
from models.broadcasts.recipient import BroadcastRecipient, Entry
from models.broadcasts.recipients_file import LIFETIME_MS, RecipientsFile
from models.database import appending, exclusively, repeated
from models.errors import ConflictError
from models.messages.content import as_json
from services.fair_share import Share
from services.file_names import safe_name
from services.recipient_rows import RecipientRows, Summary, recipients_of

# Recipients of an account that wait for a broadcast, in all files.
MOST_UNUSED = 5_000_000
# Rows of a transaction, which takes some 20 ms, and the pause after it, in seconds.
BATCH, PAUSE_SECONDS = 1_000, 0.002
# An upload takes up to a minute and a thread, and those of one account could exceed its maximum together.
UPLOADS = Share("uploads of recipients", 1, 3)
UNNAMED = "recipients"


def upload(
    account_id: str,
    file: IO[bytes],
    filename: str,
    to_column: str | None = None,
    country: str | None = None,
) -> RecipientsFile:
    """Store the recipients of a file. Raises DomainError, and then stores nothing.

    Wrong rows are left out. The first of them are listed.
    """
    with UPLOADS.of(account_id), recipients_of(file, to_column, country) as rows:
        row = _begin(account_id, filename)
        try:
            for some in _batches(rows):
                _add(row.id, some)
                time.sleep(PAUSE_SECONDS)
        except Exception:
            discard(row)
            raise
        return _complete(row.id, rows.summary)


@exclusively
def _begin(account_id: str, filename: str) -> RecipientsFile:
    if (count := RecipientsFile.count_unused(account_id)) >= MOST_UNUSED:
        raise ConflictError(
            f"The account has {count:,} recipients in files that no broadcast uses. Upload this file when"
            " the others are used or have expired."
        )
    return RecipientsFile.begin(account_id, safe_name(filename) or UNNAMED)


def _batches(rows: RecipientRows) -> Iterator[list[Entry]]:
    entries = (Entry(each.to, each.parameters, each.reference) for each in rows)
    return iter(lambda: list(islice(entries, BATCH)), [])


@repeated
def _add(list_id: str, entries: Sequence[Entry]) -> None:
    with appending():
        BroadcastRecipient.add_many(list_id, entries)


def discard(row: RecipientsFile) -> None:
    """Remove a file that no broadcast uses, with its recipients."""
    while row.discard(BATCH) >= BATCH:
        time.sleep(PAUSE_SECONDS)


@exclusively
def _complete(file_id: str, summary: Summary) -> RecipientsFile:
    row, now = RecipientsFile.get_by_id(file_id), clock.now()
    columns = [
        {"name": name, "empty": column.empty, "firstEmptyLine": column.first_empty}
        for name, column in summary.columns.items()
    ]
    row.amend(
        kind=summary.kind,
        encoding=summary.encoding,
        delimiter=summary.delimiter,
        to_column=summary.to_column,
        reference_column=summary.reference_column,
        rows=summary.rows,
        recipients=summary.recipients,
        duplicates=summary.duplicates,
        wrong=summary.wrong,
        errors_json=as_json([each._asdict() for each in summary.errors]),
        columns_json=as_json(columns),
        stored_at=now,
        expires_at=now + LIFETIME_MS,
    )
    after = {"recipients": summary.recipients}
    Audit.record(row.account_id, "recipients.uploaded", row.id, after=after)
    return row
