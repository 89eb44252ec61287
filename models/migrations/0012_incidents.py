"""Incidents, and the recipients of their notifications."""

from typing import Any

TABLES = (
    """CREATE TABLE IF NOT EXISTS alert_target (
        account_id TEXT NOT NULL PRIMARY KEY,
        emails TEXT NOT NULL,
        sealed_url TEXT,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
    """CREATE TABLE IF NOT EXISTS incident (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        title TEXT NOT NULL,
        detail TEXT NOT NULL,
        path TEXT NOT NULL,
        began_at BIGINT NOT NULL,
        cleared_at BIGINT,
        ended_at BIGINT,
        told_json TEXT NOT NULL,
        end_told_json TEXT NOT NULL,
        due_at BIGINT,
        tries INTEGER NOT NULL,
        lease_token TEXT,
        error TEXT,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
)
INDEXES = (
    "INDEX IF NOT EXISTS incident_account_id ON incident (account_id)",
    """UNIQUE INDEX IF NOT EXISTS incident_open ON incident (account_id, kind, subject)
    WHERE ended_at IS NULL""",
    "INDEX IF NOT EXISTS incident_due ON incident (due_at) WHERE due_at IS NOT NULL",
    "INDEX IF NOT EXISTS template_rejected ON template (account_id) WHERE status = 'REJECTED'",
)


def up(_migrator: object, db: Any) -> None:
    for table in TABLES:
        db.execute_sql(table)
    for index in INDEXES:
        db.execute_sql(f"CREATE {index}")
