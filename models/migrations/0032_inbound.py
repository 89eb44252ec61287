"""The network's time of messages, edits and deletions, groups, and messages that open no window."""

from typing import Any

COLUMNS = {
    "network_at": "BIGINT",
    "group_id": "TEXT",
    "opens_window": "INTEGER",
    "change": "TEXT",
    "edited_at": "BIGINT",
    "edit_id": "TEXT",
    "deleted_at": "BIGINT",
}


def up(_migrator: object, db: Any) -> None:
    for name, kind in COLUMNS.items():
        db.execute_sql(f"ALTER TABLE message ADD COLUMN {name} {kind}")
