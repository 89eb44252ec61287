"""Uploaded files of recipients, whose rows are in broadcast_recipient, with their id as list_id."""

from typing import Any

STATEMENTS = (
    """CREATE TABLE recipients_file (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES account (id),
        filename TEXT NOT NULL,
        kind TEXT,
        encoding TEXT,
        delimiter TEXT,
        to_column TEXT,
        reference_column TEXT,
        "rows" INTEGER NOT NULL,
        recipients INTEGER NOT NULL,
        duplicates INTEGER NOT NULL,
        wrong INTEGER NOT NULL,
        errors_json TEXT NOT NULL,
        columns_json TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        stored_at BIGINT,
        expires_at BIGINT NOT NULL,
        broadcast_id TEXT
    )""",
    "CREATE INDEX recipients_file_account_id ON recipients_file (account_id)",
    "CREATE INDEX recipients_file_expires_at ON recipients_file (expires_at)",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
