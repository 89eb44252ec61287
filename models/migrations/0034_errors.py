"""All errors of a message and of a step, with everything that the network said about them."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    for table in ("message", "status_change"):
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN errors_json TEXT")
