"""The progress of erasures, and indexes from people to items set aside and to their unfinished erasure.

Release 1.0.0 writes none of it: null means that nothing is done or indexed yet.
"""

from typing import Any

STATEMENTS = (
    "ALTER TABLE erasure ADD COLUMN step TEXT",
    "ALTER TABLE erasure ADD COLUMN place TEXT",
    "CREATE INDEX IF NOT EXISTS erasure_account_id_id ON erasure (account_id, id)",
    """CREATE TABLE IF NOT EXISTS erased_person (
        identifier TEXT NOT NULL,
        erasure_id TEXT NOT NULL,
        PRIMARY KEY (identifier, erasure_id),
        FOREIGN KEY (erasure_id) REFERENCES erasure (id) ON DELETE CASCADE
    )""",
    "CREATE INDEX IF NOT EXISTS erased_person_erasure_id ON erased_person (erasure_id)",
    "ALTER TABLE set_aside ADD COLUMN indexed_at BIGINT",
    "CREATE INDEX IF NOT EXISTS set_aside_unindexed ON set_aside (id) WHERE indexed_at IS NULL",
    """CREATE TABLE IF NOT EXISTS mention (
        identifier TEXT NOT NULL,
        aside_id TEXT NOT NULL,
        PRIMARY KEY (identifier, aside_id),
        FOREIGN KEY (aside_id) REFERENCES set_aside (id) ON DELETE CASCADE
    )""",
    "CREATE INDEX IF NOT EXISTS mention_aside_id ON mention (aside_id)",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
