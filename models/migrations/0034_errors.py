"""Everything that the network says: all errors of a message and of a step, and an option of templates."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    for table in ("message", "status_change"):
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN errors_json TEXT")
    db.execute_sql("ALTER TABLE template ADD COLUMN message_send_ttl_seconds INTEGER")
