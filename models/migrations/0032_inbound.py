"""The network's time of messages, edits and deletions, groups, and what comes from the network's app."""

from typing import Any

COLUMNS = {
    "network_at": "BIGINT",
    "group_id": "TEXT",
    "opens_window": "INTEGER",
    "change": "TEXT",
    "origin": "TEXT",
    "is_placeholder": "INTEGER",
    "is_backdated": "INTEGER",
    "edited_at": "BIGINT",
    "edit_id": "TEXT",
    "deleted_at": "BIGINT",
}


def up(_migrator: object, db: Any) -> None:
    for name, kind in COLUMNS.items():
        db.execute_sql(f"ALTER TABLE message ADD COLUMN {name} {kind}")
    db.execute_sql("ALTER TABLE contact ADD COLUMN saved_name TEXT")
    db.execute_sql(
        "CREATE INDEX message_backdated ON message (account_id, id) WHERE is_backdated = 1"
    )
    db.execute_sql(
        "CREATE INDEX message_early ON message (quoted_wa_id)"
        " WHERE change IS NOT NULL AND quoted_id IS NULL"
    )
