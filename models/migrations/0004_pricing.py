"""A message keeps the pricing that its statuses tell."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE message ADD COLUMN pricing_json TEXT")
