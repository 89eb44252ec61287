"""Events have a position, so that they are read in the order of their commits.

Existing events come first: on PostgreSQL all have position 0, in the order of their identifiers. So
PostgreSQL adds the column without rewriting the table.
"""

from typing import Any

from peewee import PostgresqlDatabase

from models.deliveries.event import order_by_commit


def up(_migrator: object, db: Any) -> None:
    db.execute_sql("ALTER TABLE event ADD COLUMN position BIGINT NOT NULL DEFAULT 0")
    order_by_commit(db)
    if not isinstance(db, PostgresqlDatabase):
        db.execute_sql("UPDATE event SET position = created_at * 1000")
    db.execute_sql("CREATE INDEX event_account_id_position_id ON event (account_id, position, id)")
