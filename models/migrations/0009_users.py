"""Roles, two-factor authentication, invitations, and the audit log."""

from typing import Any

COLUMNS = (
    ('"user"', "role TEXT NOT NULL DEFAULT 'owner'"),
    ('"user"', "signed_in_at BIGINT"),
    ('"user"', "sealed_totp TEXT"),
    ('"user"', "totp_since BIGINT"),
    ('"user"', "totp_step BIGINT NOT NULL DEFAULT 0"),
    ("user_session", "address TEXT NOT NULL DEFAULT ''"),
    ("user_session", "browser TEXT NOT NULL DEFAULT ''"),
)
_OF_A_USER = 'FOREIGN KEY (user_id) REFERENCES "user" (id) ON DELETE CASCADE'
TABLES = (
    f"""CREATE TABLE IF NOT EXISTS recovery_code (
        id TEXT NOT NULL PRIMARY KEY,
        user_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        {_OF_A_USER}
    )""",
    f"""CREATE TABLE IF NOT EXISTS pending_sign_in (
        id TEXT NOT NULL PRIMARY KEY,
        user_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        {_OF_A_USER}
    )""",
    f"""CREATE TABLE IF NOT EXISTS password_reset (
        id TEXT NOT NULL PRIMARY KEY,
        user_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        expires_at BIGINT NOT NULL,
        {_OF_A_USER}
    )""",
    """CREATE TABLE IF NOT EXISTS invitation (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        email TEXT NOT NULL,
        role TEXT NOT NULL,
        digest TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
    """CREATE TABLE IF NOT EXISTS audit (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        at BIGINT NOT NULL,
        user_id TEXT,
        who TEXT NOT NULL,
        address TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT,
        detail_json TEXT NOT NULL,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
)
INDEXES = (
    ("INDEX", "recovery_code_user_id", "recovery_code (user_id)"),
    ("UNIQUE INDEX", "recovery_code_digest", "recovery_code (digest)"),
    ("INDEX", "pending_sign_in_user_id", "pending_sign_in (user_id)"),
    ("UNIQUE INDEX", "pending_sign_in_digest", "pending_sign_in (digest)"),
    ("INDEX", "password_reset_user_id", "password_reset (user_id)"),
    ("UNIQUE INDEX", "password_reset_digest", "password_reset (digest)"),
    ("INDEX", "invitation_account_id", "invitation (account_id)"),
    ("UNIQUE INDEX", "invitation_digest", "invitation (digest)"),
    ("INDEX", "audit_account_id_id", "audit (account_id, id)"),
)


def up(_migrator: object, db: Any) -> None:
    for table, column in COLUMNS:
        db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {column}")
    for table in TABLES:
        db.execute_sql(table)
    for kind, name, columns in INDEXES:
        db.execute_sql(f"CREATE {kind} IF NOT EXISTS {name} ON {columns}")
