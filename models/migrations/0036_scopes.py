"""What an API key may do, and until when. Without values it may do all, and does not expire."""

from typing import Any

COLUMNS = ("scopes_text TEXT", "numbers_text TEXT", "expires_at BIGINT")


def up(_migrator: object, db: Any) -> None:
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE api_key ADD COLUMN {column}")
