"""A number has what the network says of it: quality, messaging limit, the latest notice, why it is lost."""

from typing import Any

COLUMNS = ("quality_rating", "messaging_limit", "reason", "notice_json")


def up(_migrator: object, db: Any) -> None:
    for name in COLUMNS:
        db.execute_sql(f"ALTER TABLE number ADD COLUMN {name} TEXT")
