"""When a single send last took a place in the pace of a number."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE pace ADD COLUMN single_at BIGINT NOT NULL DEFAULT 0")
