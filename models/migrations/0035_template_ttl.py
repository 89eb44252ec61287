"""For how long the network tries to deliver messages of a template."""

from typing import Any


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE template ADD COLUMN message_send_ttl_seconds INTEGER")
