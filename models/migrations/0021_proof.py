"""Recipients who accepted, waiting mails, known browsers, and when a session's user gave the password again.

The present recipients have accepted: they stay in ``alert_target``.
"""

from typing import Any

STATEMENTS = (
    """CREATE TABLE IF NOT EXISTS mail (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES account (id),
        purpose TEXT NOT NULL,
        address TEXT NOT NULL,
        sealed_subject TEXT,
        sealed_text TEXT,
        due_at BIGINT,
        tries INTEGER NOT NULL,
        lease_token TEXT,
        error TEXT
    )""",
    "CREATE INDEX IF NOT EXISTS mail_account_id_id ON mail (account_id, id)",
    "CREATE INDEX IF NOT EXISTS mail_address_id ON mail (address, id)",
    "CREATE INDEX IF NOT EXISTS mail_due ON mail (due_at) WHERE due_at IS NOT NULL",
    """CREATE TABLE IF NOT EXISTS recipient (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL REFERENCES account (id),
        email TEXT NOT NULL,
        digest TEXT NOT NULL,
        sealed_token TEXT NOT NULL,
        asked_at BIGINT NOT NULL,
        confirmed_at BIGINT,
        unsubscribed_at BIGINT
    )""",
    "CREATE INDEX IF NOT EXISTS recipient_account_id ON recipient (account_id)",
    "CREATE UNIQUE INDEX IF NOT EXISTS recipient_account_id_email ON recipient (account_id, email)",
    "CREATE UNIQUE INDEX IF NOT EXISTS recipient_digest ON recipient (digest)",
    """CREATE TABLE IF NOT EXISTS known_device (
        id TEXT NOT NULL PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
        digest TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS known_device_user_id ON known_device (user_id)",
    "CREATE UNIQUE INDEX IF NOT EXISTS known_device_digest_user_id ON known_device (digest, user_id)",
    "ALTER TABLE user_session ADD COLUMN proved_at BIGINT",
)


def up(_migrator: object, db: Any) -> None:
    for statement in STATEMENTS:
        db.execute_sql(statement)
