"""The history that cursors of events belong to, and the events that were removed from it."""

from typing import Any

STATEMENTS = (
    """CREATE TABLE IF NOT EXISTS event_history (
        id TEXT NOT NULL PRIMARY KEY,
        home TEXT NOT NULL,
        base BIGINT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS erased_event (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        position BIGINT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS erased_event_account_id_position ON erased_event (account_id, position)",
    """CREATE TABLE IF NOT EXISTS event_floor (
        account_id TEXT NOT NULL PRIMARY KEY,
        position BIGINT NOT NULL,
        event_id TEXT NOT NULL
    )""",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
