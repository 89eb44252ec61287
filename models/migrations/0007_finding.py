"""Indexes to find messages by time, and by rare types."""

from typing import Any

INDEXES = (
    "message_time ON message (account_id, created_at, id)",
    "message_rare_type ON message (account_id, type, id) WHERE type NOT IN ('text', 'template')",
)


def up(_migrator: object, db: Any) -> None:
    for index in INDEXES:
        db.execute_sql(f"CREATE INDEX IF NOT EXISTS {index}")
