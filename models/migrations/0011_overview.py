"""Totals by time for the overview: messages by hour, and results of attempts at webhooks.

Existing messages are counted. Totals of attempts begin with the migration.
"""

from typing import Any

from peewee import PostgresqlDatabase

BUCKETS = 28
TABLES = (
    """CREATE TABLE IF NOT EXISTS message_hour (
        account_id TEXT NOT NULL,
        hour BIGINT NOT NULL,
        status TEXT NOT NULL,
        shard INTEGER NOT NULL,
        total BIGINT NOT NULL,
        PRIMARY KEY (account_id, hour, status, shard)
    )""",
    f"""CREATE TABLE IF NOT EXISTS attempt_total (
        webhook_id TEXT NOT NULL,
        width INTEGER NOT NULL,
        start BIGINT NOT NULL,
        delivered INTEGER NOT NULL,
        retried INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        {"".join(f"bucket_{number} INTEGER NOT NULL, " for number in range(BUCKETS))}
        PRIMARY KEY (webhook_id, width, start),
        FOREIGN KEY (webhook_id) REFERENCES webhook (id) ON DELETE CASCADE
    )""",
)
INDEXES = (
    "message_hour_hour ON message_hour (hour)",
    "message_hour_sharded ON message_hour (shard) WHERE shard <> 0",
    "attempt_total_width_start ON attempt_total (width, start)",
)
COUNT = """
    INSERT INTO message_hour (account_id, hour, status, shard, total)
    VALUES ({row}.account_id, {row}.created_at / 3600000, {row}.status, {shard}, {change})
    ON CONFLICT (account_id, hour, status, shard) DO UPDATE SET total = message_hour.total {change};
"""
ON_SQLITE = (
    "CREATE TRIGGER IF NOT EXISTS message_hour_in AFTER INSERT ON message BEGIN {new} END",
    "CREATE TRIGGER IF NOT EXISTS message_hour_out AFTER DELETE ON message BEGIN {old} END",
    """
    CREATE TRIGGER IF NOT EXISTS message_hour_move AFTER UPDATE OF status ON message
    WHEN OLD.status <> NEW.status BEGIN {old} {new} END
    """,
)
ON_POSTGRESQL = (
    "DROP TRIGGER IF EXISTS message_hour_in_out ON message",
    "DROP TRIGGER IF EXISTS message_hour_move ON message",
    """
    CREATE OR REPLACE FUNCTION message_hour_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN {old} END IF;
        IF TG_OP <> 'DELETE' THEN {new} END IF;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER message_hour_in_out AFTER INSERT OR DELETE ON message
    FOR EACH ROW EXECUTE FUNCTION message_hour_keep()
    """,
    """
    CREATE TRIGGER message_hour_move AFTER UPDATE OF status ON message
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION message_hour_keep()
    """,
)
PRESENT = """
    INSERT INTO message_hour (account_id, hour, status, shard, total)
    SELECT account_id, created_at / 3600000, status, 0, COUNT(*) FROM message WHERE TRUE GROUP BY 1, 2, 3
    ON CONFLICT DO NOTHING
"""


def up(_migrator: object, db: Any) -> None:
    on_postgresql = isinstance(db, PostgresqlDatabase)
    shard = "pg_backend_pid()" if on_postgresql else "0"
    for statement in (*TABLES, *(f"CREATE INDEX IF NOT EXISTS {index}" for index in INDEXES)):
        db.execute_sql(statement)
    if on_postgresql:
        # New messages wait for the end of the migration, so that each is counted once.
        db.execute_sql("LOCK TABLE message IN SHARE ROW EXCLUSIVE MODE")
    db.execute_sql(PRESENT)
    new = COUNT.format(row="NEW", shard=shard, change="+ 1")
    old = COUNT.format(row="OLD", shard=shard, change="- 1")
    for trigger in ON_POSTGRESQL if on_postgresql else ON_SQLITE:
        db.execute_sql(trigger.format(new=new, old=old))
