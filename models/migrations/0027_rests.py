"""Until when the receiver of a webhook asked to get no new events."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE webhook ADD COLUMN rests_until BIGINT")
