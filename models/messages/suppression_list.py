"""Reads and writes many suppressions at once, for imports and exports."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from models import clock
from models.database import database, fetch, many_rows
from models.messages.suppression import IS_IN_FORCE, Suppression

# The columns of ``add_many``, and their types.
ADDED = dict.fromkeys(
    ("id", "account_id", "digest", "person", "number_id", "reason", "source"), "text"
) | {"at": "bigint"}
# Peewee takes longer to build this than the databases take to run it.
_ADD = """INSERT INTO suppression ({names}) {rows}
    ON CONFLICT (account_id, digest, number_id) DO UPDATE SET person = EXCLUDED.person,
    reason = EXCLUDED.reason, source = EXCLUDED.source, at = EXCLUDED.at, ended_at = NULL
    WHERE suppression.ended_at <= EXCLUDED.at
    OR suppression.ended_at IS NULL AND EXISTS (SELECT 1 FROM suppression other
        WHERE other.account_id = suppression.account_id AND other.digest = suppression.digest
        AND '' IN (other.number_id, suppression.number_id)
        AND other.ended_at >= suppression.at AND other.ended_at < EXCLUDED.at)"""


class Entry(NamedTuple):
    """A line of an imported list. ``at`` is when the person opted out, in milliseconds."""

    person: str
    number_id: str
    reason: str | None
    at: int


def add_many(account_id: str, entries: Sequence[tuple[str, Entry]], source: str) -> int:
    """Suppress many people, in the caller's exclusive transaction. Returns how many were not before.

    Each entry comes with its digest. A later opt-in to the same number stays.
    """
    # A statement may not change a row twice. The latest entry is last.
    unique = {(digest, e.number_id): e for digest, e in sorted(entries, key=_time_of)}
    rows = [
        (row_id, account_id, digest, entry.person, number_id, entry.reason, source, entry.at)
        for row_id, ((digest, number_id), entry) in zip(
            clock.new_ids("sup", len(unique)), unique.items(), strict=True
        )
    ]
    added, values = many_rows(rows, ADDED)
    statement = _ADD.format(names=", ".join(ADDED), rows=added)
    return int(database.execute_sql(statement, values).rowcount)


def listed(account_id: str, after: str, limit: int) -> list[tuple[str, *tuple[Any, ...]]]:
    """The next opt-outs in force of people who are not erased, in the order of their identifiers.

    Each has its identifier, the person, the number, the reason, the source and the time.
    """
    columns = (
        Suppression.id,
        Suppression.person,
        Suppression.number_id,
        Suppression.reason,
        Suppression.source,
        Suppression.at,
    )
    is_listed = Suppression.account == account_id, IS_IN_FORCE, Suppression.id > after
    of_account = Suppression.select(*columns).where(
        *is_listed, Suppression.person.is_null(is_null=False)
    )
    return fetch(of_account.order_by(Suppression.id).limit(limit).tuples())


def _time_of(line: tuple[str, Entry]) -> int:
    return line[1].at
