"""When the platform confirmed a number's status, and how often news requested a check."""

from typing import Any

STATEMENTS = (
    "ALTER TABLE number ADD COLUMN confirmed_at BIGINT",
    "ALTER TABLE number ADD COLUMN doubts INTEGER NOT NULL DEFAULT 0",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
