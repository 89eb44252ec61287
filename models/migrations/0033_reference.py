"""The caller's own name for a message. Without references its index is empty, so it is made in one scan."""

from typing import Any

STATEMENTS = (
    "ALTER TABLE message ADD COLUMN reference TEXT",
    """CREATE INDEX message_reference ON message (account_id, reference, id)
    WHERE reference IS NOT NULL""",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
