"""Numbers store their quality, messaging limit, latest notice, and the reason of a loss."""

from typing import Any

COLUMNS = ("quality_rating", "messaging_limit", "reason", "notice_json")


def up(_migrator: object, db: Any) -> None:
    for name in COLUMNS:
        db.execute_sql(f"ALTER TABLE number ADD COLUMN {name} TEXT")
