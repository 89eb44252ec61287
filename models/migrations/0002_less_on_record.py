"""Removes columns of signups and redeliveries that nothing reads, and duplicate steps of messages.

A connected number always has a time of its next check.
"""

from typing import Any

UNUSED = (
    ("redelivery", ("call_id", "created_at")),
    ("signup", ("phone_number_id", "waba_id", "phone_number", "display_name")),
    ("signup", ("step", "error_code", "updated_at")),
)


def up(migrator: Any, db: Any) -> None:
    # A complete signup had no token.
    db.execute_sql("DELETE FROM signup WHERE sealed_token IS NULL")
    for table, columns in UNUSED:
        migrator.migrate(*(migrator.drop_column(table, column) for column in columns))
    db.execute_sql(
        "DELETE FROM status_change WHERE id NOT IN"
        " (SELECT MIN(id) FROM status_change GROUP BY message_id, status)"
    )
    db.execute_sql(
        "CREATE UNIQUE INDEX status_change_message_id_status ON status_change (message_id, status)"
    )
    db.execute_sql("DROP INDEX statuschange_message_id")
    db.execute_sql(
        "UPDATE number SET check_due_at = 0"
        " WHERE status IN ('ACTIVE', 'BANNED') AND check_due_at IS NULL"
    )
