"""The kind of an actor and the values before a change in the audit log, and who created each API key.

1.0.0 writes a row of the audit log for each key that a user creates, and none for the operator's. The role of
a user who is removed is unknown.
"""

from typing import Any

STATEMENTS = (
    "ALTER TABLE audit ADD COLUMN kind TEXT",
    "ALTER TABLE audit ADD COLUMN before_json TEXT",
    "ALTER TABLE api_key ADD COLUMN created_by TEXT",
    """UPDATE api_key SET created_by = CASE
        WHEN NOT EXISTS (
            SELECT 1 FROM audit WHERE audit.account_id = api_key.account_id
            AND audit.action = 'key.created' AND audit.subject = api_key.id
        ) THEN 'operator'
        ELSE (
            SELECT MIN("user".role) FROM audit JOIN "user" ON "user".id = audit.user_id
            WHERE audit.account_id = api_key.account_id
            AND audit.action = 'key.created' AND audit.subject = api_key.id
        ) END""",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
