"""Settings of a webhook: a description, headers, and the most events a second."""

from typing import Any

COLUMNS = ("description TEXT", "sealed_headers TEXT", "max_rate BIGINT", "opens_at BIGINT")


def up(_migrator: object, db: Any) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE webhook ADD COLUMN {column}")
