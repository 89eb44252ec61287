"""One phone number is one number of an account, and when the platform confirmed a number's status.

Numbers of an account with the same phone number become one: the connected one, otherwise the one that was
activated last. The others stay known as its former identifiers. An earlier release beside this one cannot
connect a phone number under a new identifier of the platform.
"""

import json
from typing import Any

from peewee import PostgresqlDatabase

STATEMENTS = (
    "ALTER TABLE number ADD COLUMN confirmed_at BIGINT",
    "ALTER TABLE number ADD COLUMN doubts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE number ADD COLUMN throughput TEXT",
    "ALTER TABLE number ADD COLUMN problems_json TEXT NOT NULL DEFAULT '[]'",
    "CREATE INDEX number_alias_former ON number_alias (former)",
    "CREATE UNIQUE INDEX number_alias_number_id_former ON number_alias (number_id, former)",
)
ALIAS = """CREATE TABLE number_alias (
    id {} NOT NULL PRIMARY KEY,
    number_id TEXT NOT NULL REFERENCES number (id) ON DELETE CASCADE,
    former TEXT NOT NULL,
    activated_at BIGINT NOT NULL
)"""
ONE = (
    "CREATE UNIQUE INDEX number_phone ON number (account_id, phone_number) WHERE phone_number <> ''"
)
SEVERAL = """
    SELECT account_id, phone_number FROM number WHERE phone_number <> ''
    GROUP BY account_id, phone_number HAVING COUNT(*) > 1
"""
# The one that stays comes first.
OF_PHONE = """
    SELECT id, phone_number_id, COALESCE(activated_at, 0) FROM number
    WHERE account_id = ? AND phone_number = ?
    ORDER BY status NOT IN ('ACTIVE', 'BANNED'), COALESCE(activated_at, 0) DESC, id DESC
"""
NOTE = "INSERT INTO number_alias (number_id, former, activated_at) VALUES (?, ?, ?)"
IDS = ("phone", "user_id", "parent_user_id")
# Rows of contacts of two numbers with a common identifier: of the gone number, and of the other.
SAME = " UNION ".join(
    f"SELECT g.id, k.id FROM contact g JOIN contact k ON k.{name} = g.{name}"  # noqa: S608 - names
    " WHERE g.number_id = ? AND k.number_id = ?"
    for name in IDS
)
NAMED = "SELECT id FROM contact WHERE number_id = ? AND {} = ? AND id <> ?"
CONTACT = """
    SELECT id, number_id, phone, user_id, parent_user_id, username, name, note, opted_out_at,
        opted_out_because, merged_into
    FROM contact WHERE id = ?
"""
COLUMNS = (
    *("id", "number_id", *IDS, "username", "name", "note", "opted_out_at", "opted_out_because"),
    "merged_into",
)
Row = dict[str, Any]
# One message cannot be twice in a number.
UNNAME = """
    UPDATE message SET wa_message_id = NULL WHERE number_id = ?
    AND wa_message_id IN (SELECT wa_message_id FROM message WHERE number_id = ?)
"""
MOVED = ("contact", "message", "event", "erasure", "notice", "signup", "signup_link")
SUMS = {
    "usage_total": (("account_id", "day", "direction", "category", "billable"), ("total", "size")),
    "message_tally": (("account_id", "direction", "status", "shard"), ("total",)),
}
HOOKS = "SELECT id, number_ids_json FROM webhook WHERE account_id = ? AND number_ids_json LIKE ?"
TABLES = ", ".join((*MOVED, *SUMS, "number", "webhook", "contact_change"))


def up(_migrator: object, db: Any) -> None:
    is_postgresql = isinstance(db, PostgresqlDatabase)
    db.execute_sql(ALIAS.format("BIGSERIAL" if is_postgresql else "INTEGER"))
    for statement in STATEMENTS:
        db.execute_sql(statement)
    if several := db.execute_sql(SEVERAL).fetchall():
        if is_postgresql:
            # An earlier release writes beside this.
            db.execute_sql(f"LOCK TABLE {TABLES} IN EXCLUSIVE MODE")
        for account_id, phone in several:
            (kept, *_), *gone = _run(db, OF_PHONE, account_id, phone).fetchall()
            for number_id, phone_number_id, activated_at in gone:
                _merge(db, account_id, number_id, kept)
                _run(db, "DELETE FROM number WHERE id = ?", number_id)
                for former in (number_id, phone_number_id):
                    _run(db, NOTE, kept, former, activated_at)
    db.execute_sql(ONE)


def _merge(db: Any, account_id: str, gone: str, kept: str) -> None:
    # Each turn ends at least one of the pairs.
    while pairs := _run(db, SAME, *(gone, kept) * len(IDS)).fetchall():
        for pair in pairs:
            _join(db, *(_contact(db, each) for each in pair))
    _run(db, UNNAME, gone, kept)
    for table in MOVED:
        _run(db, f"UPDATE {table} SET number_id = ? WHERE number_id = ?", kept, gone)  # noqa: S608
    for table, (key, sums) in SUMS.items():
        added = ", ".join(f"{each} = {table}.{each} + EXCLUDED.{each}" for each in sums)
        columns = ", ".join((*key, *sums))
        moved = f"""
            INSERT INTO {table} (number_id, {columns})
            SELECT ?, {columns} FROM {table} WHERE number_id = ?
            ON CONFLICT (number_id, {", ".join(key)}) DO UPDATE SET {added}
        """  # noqa: S608 - names
        _run(db, moved, kept, gone)
        _run(db, f"DELETE FROM {table} WHERE number_id = ?", gone)  # noqa: S608 - a name
    for hook_id, text in _run(db, HOOKS, account_id, f"%{gone}%").fetchall():
        ids = dict.fromkeys(kept if each == gone else each for each in json.loads(text))
        change = "UPDATE webhook SET number_ids_json = ? WHERE id = ?"
        _run(db, change, json.dumps(list(ids)), hook_id)


def _contact(db: Any, contact_id: str) -> Row:
    (row,) = _run(db, CONTACT, contact_id).fetchall()
    return dict(zip(COLUMNS, row, strict=True))


def _leader(db: Any, row: Row) -> Row:
    """The contact of a row: itself, or the one that it was merged into."""
    return row if row["merged_into"] is None else _contact(db, row["merged_into"])


def _join(db: Any, gone: Row, kept: Row) -> None:
    """Merge the contacts of two rows with a common identifier, which only the kept row has afterwards."""
    common = {name: None for name in IDS if gone[name] is not None and gone[name] == kept[name]}
    theirs, ours = _leader(db, gone), _leader(db, kept)
    is_redirect = gone["merged_into"] is not None and kept["merged_into"] is None
    if common.keys() == {"phone"} and is_redirect and _is_same(theirs, kept):
        # The network has corrected the phone number, which still leads to the person.
        _set(db, kept["id"], common)
        _absorb(db, theirs, ours | common)
        return
    if common and theirs["id"] != ours["id"] and _is_same(theirs, ours):
        _absorb(db, theirs, ours)
    _set(db, gone["id"], common)


def _is_same(one: Row, other: Row) -> bool:
    """Whether two contacts are one person. With two user ids, the phone number has got another owner."""
    return None in {one["user_id"], other["user_id"]} or one["user_id"] == other["user_id"]


def _absorb(db: Any, gone: Row, kept: Row) -> None:
    """Merge a contact into another one, with its messages, its history and what that one lacks."""
    for table in ("message", "contact_change"):
        _run(
            db,
            f"UPDATE {table} SET contact_id = ? WHERE contact_id = ?",  # noqa: S608 - a name
            kept["id"],
            gone["id"],
        )
    _run(db, "UPDATE contact SET merged_into = ? WHERE merged_into = ?", kept["id"], gone["id"])
    _set(db, gone["id"], dict.fromkeys(IDS) | {"merged_into": kept["id"]})
    for name in (*IDS, "username", "name", "note", "opted_out_at", "opted_out_because"):
        value = gone[name]
        # It may have become known by the merge of another one.
        is_missing = value is not None and _contact(db, kept["id"])[name] is None
        if is_missing and (name not in IDS or _is_free(db, kept, name, value)):
            _set(db, kept["id"], {name: value})


def _is_free(db: Any, kept: Row, name: str, value: str) -> bool:
    """Whether no other contact of the number has an identifier, after those of the same person are merged."""
    for (other_id,) in _run(
        db, NAMED.format(name), kept["number_id"], value, kept["id"]
    ).fetchall():
        row = _contact(db, other_id)
        other, ours = _leader(db, row), _contact(db, kept["id"])
        if other["id"] != ours["id"]:
            if not _is_same(other, ours):
                return False
            _absorb(db, other, ours)
        _set(db, other_id, {name: None})
    return bool(_contact(db, kept["id"])[name] is None)


def _set(db: Any, contact_id: str, values: dict[str, Any]) -> None:
    if values:
        changes = ", ".join(f"{name} = ?" for name in values)
        _run(db, f"UPDATE contact SET {changes} WHERE id = ?", *values.values(), contact_id)  # noqa: S608


def _run(db: Any, sql: str, *values: Any) -> Any:
    return db.execute_sql(sql.replace("?", db.param), values)
