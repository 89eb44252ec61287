"""Erasures of people that are not finished, and the index that finds the block of a message."""

from typing import Any

STATEMENTS = (
    """CREATE TABLE IF NOT EXISTS erasure (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        number_id TEXT NOT NULL,
        contact_id TEXT NOT NULL,
        contact_ids_json TEXT NOT NULL,
        known_ids_json TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        due_at BIGINT NOT NULL,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
    "CREATE INDEX IF NOT EXISTS search_block_account_id_id ON search_block (account_id, id)",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
