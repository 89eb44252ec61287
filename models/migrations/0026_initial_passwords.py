"""When the password of a user expires that a command made.

``expiring_hash`` is its hash: release 1.0.0 replaces the password and neither of these columns.
"""

from typing import Any

STATEMENTS = (
    'ALTER TABLE "user" ADD COLUMN password_expires_at BIGINT',
    'ALTER TABLE "user" ADD COLUMN expiring_hash TEXT',
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
