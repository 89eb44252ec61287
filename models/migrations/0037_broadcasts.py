"""Broadcasts, their recipients, the pace of numbers, and the broadcast of a message."""

from typing import Any

from peewee import PostgresqlDatabase

POSTGRESQL = {"serial": "BIGSERIAL", "boolean": "BOOLEAN"}
SQLITE = {"serial": "INTEGER NOT NULL", "boolean": "INTEGER"}
STATEMENTS = (
    """CREATE TABLE broadcast (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES account (id),
        number_id TEXT NOT NULL REFERENCES number (id),
        name TEXT NOT NULL,
        type TEXT NOT NULL,
        content_json TEXT NOT NULL,
        list_id TEXT NOT NULL,
        total INTEGER NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        detail TEXT,
        accepted TEXT,
        rate INTEGER,
        at_limit TEXT NOT NULL,
        hours_from INTEGER,
        hours_until INTEGER,
        created_at BIGINT NOT NULL,
        start_at BIGINT,
        started_at BIGINT,
        resume_at BIGINT,
        ended_at BIGINT,
        expires_at BIGINT
    )""",
    "CREATE INDEX broadcast_account_id_id ON broadcast (account_id, id)",
    "CREATE INDEX broadcast_open ON broadcast (id) WHERE ended_at IS NULL",
    # Without references, whose checks cost a quarter of an insert on PostgreSQL.
    """CREATE TABLE broadcast_recipient (
        id {serial} PRIMARY KEY,
        list_id TEXT NOT NULL,
        to_number TEXT NOT NULL,
        parameters_json TEXT NOT NULL,
        reference TEXT,
        due_at BIGINT,
        tries INTEGER NOT NULL,
        lease_token TEXT,
        skipped TEXT,
        detail TEXT,
        message_id TEXT
    )""",
    "CREATE INDEX broadcast_recipient_list_id_id ON broadcast_recipient (list_id, id)",
    "CREATE INDEX broadcast_recipient_to_number ON broadcast_recipient (to_number)",
    """CREATE INDEX broadcast_recipient_waiting ON broadcast_recipient (list_id, due_at, id)
        WHERE due_at IS NOT NULL""",
    """CREATE INDEX broadcast_recipient_skipped ON broadcast_recipient (list_id, skipped)
        WHERE skipped IS NOT NULL""",
    """CREATE INDEX broadcast_recipient_message ON broadcast_recipient (message_id)
        WHERE message_id IS NOT NULL""",
    """CREATE TABLE pace (
        key TEXT NOT NULL PRIMARY KEY,
        next_at BIGINT NOT NULL,
        interval BIGINT NOT NULL,
        rate REAL NOT NULL,
        slowed_at BIGINT NOT NULL
    )""",
    """CREATE TABLE broadcast_usage (
        broadcast_id TEXT NOT NULL,
        category TEXT NOT NULL,
        billable {boolean} NOT NULL,
        total BIGINT NOT NULL,
        PRIMARY KEY (broadcast_id, category, billable)
    )""",
    "ALTER TABLE message ADD COLUMN broadcast_id TEXT",
    """CREATE INDEX message_broadcast ON message (broadcast_id, status)
        WHERE broadcast_id IS NOT NULL""",
)


def up(_migrator: object, db: Any) -> None:
    types = POSTGRESQL if isinstance(db, PostgresqlDatabase) else SQLITE
    for statement in STATEMENTS:
        db.execute_sql(statement.format_map(types))
