"""Numbers name their messaging network. Earlier versions name none, and know WhatsApp alone."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE number ADD COLUMN network TEXT NOT NULL DEFAULT 'whatsapp'")
