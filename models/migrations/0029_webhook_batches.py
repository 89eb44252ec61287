"""How many events go to a webhook in one request, and how long they wait for each other."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    for column in ("batch_events", "batch_wait_ms"):
        db.execute_sql(f"ALTER TABLE webhook ADD COLUMN {column} BIGINT")
