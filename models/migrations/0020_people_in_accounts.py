"""A person may have a user in several accounts, and an account may require two-factor authentication.

The index of emails is no longer unique. An earlier release beside this one finds one user of a person.
"""

from typing import Any

STATEMENTS = (
    'CREATE UNIQUE INDEX IF NOT EXISTS user_account_id_email ON "user" (account_id, email)',
    "DROP INDEX IF EXISTS user_email",
    'CREATE INDEX IF NOT EXISTS user_email ON "user" (email)',
    "ALTER TABLE account ADD COLUMN two_factor_since BIGINT",
    "ALTER TABLE recovery_code ADD COLUMN made_for TEXT",
    "ALTER TABLE pending_sign_in ADD COLUMN proven_at BIGINT",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
