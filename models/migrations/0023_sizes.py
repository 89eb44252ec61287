"""Deliveries and usage know how many bytes they are. Those of earlier versions do not."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE delivery ADD COLUMN size BIGINT")
    db.execute_sql("ALTER TABLE usage_total ADD COLUMN size BIGINT NOT NULL DEFAULT 0")
