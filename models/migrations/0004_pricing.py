"""Messages store the pricing of their statuses, and totals of usage outlive the messages."""

from typing import Any

from peewee import PostgresqlDatabase

USAGE_TOTAL = """CREATE TABLE IF NOT EXISTS usage_total (
    account_id TEXT NOT NULL,
    day TEXT NOT NULL,
    number_id TEXT NOT NULL,
    direction TEXT NOT NULL,
    category TEXT NOT NULL,
    billable {boolean} NOT NULL,
    total BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, number_id, direction, category, billable)
)"""


def up(_migrator: object, db: Any) -> None:
    for name in ("pricing_json", "pricing_status"):
        db.execute_sql(f"ALTER TABLE message ADD COLUMN {name} TEXT")
    boolean = "BOOLEAN" if isinstance(db, PostgresqlDatabase) else "INTEGER"
    db.execute_sql(USAGE_TOTAL.format(boolean=boolean))
