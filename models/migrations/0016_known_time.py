"""The last confirmed time of the wall clock."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql(
        """CREATE TABLE IF NOT EXISTS known_time (
            name TEXT NOT NULL PRIMARY KEY,
            boot_id TEXT NOT NULL,
            offset_ms BIGINT NOT NULL,
            at BIGINT NOT NULL
        )"""
    )
