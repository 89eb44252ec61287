"""Message templates of business accounts, and the times of their last reads."""

from typing import Any

TABLES = (
    """CREATE TABLE IF NOT EXISTS template_list (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        waba_id TEXT NOT NULL,
        read_at BIGINT,
        due_at BIGINT NOT NULL,
        tries INTEGER NOT NULL,
        version INTEGER NOT NULL,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
    """CREATE TABLE IF NOT EXISTS template (
        id TEXT NOT NULL PRIMARY KEY,
        account_id TEXT NOT NULL,
        waba_id TEXT NOT NULL,
        network_id TEXT NOT NULL,
        name TEXT NOT NULL,
        language TEXT NOT NULL,
        status TEXT NOT NULL,
        category TEXT NOT NULL,
        components_json TEXT NOT NULL,
        parameter_format TEXT,
        quality_score TEXT,
        rejected_reason TEXT,
        told_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        FOREIGN KEY (account_id) REFERENCES account (id)
    )""",
)
INDEXES = (
    ("INDEX", "template_list_account_id", "template_list (account_id)"),
    ("INDEX", "template_list_due_at", "template_list (due_at)"),
    ("UNIQUE INDEX", "template_list_waba_id_account_id", "template_list (waba_id, account_id)"),
    ("INDEX", "template_account_id", "template (account_id)"),
    (
        "UNIQUE INDEX",
        "template_account_id_waba_id_network_id",
        "template (account_id, waba_id, network_id)",
    ),
    (
        "INDEX",
        "template_account_id_waba_id_name_language",
        "template (account_id, waba_id, name, language)",
    ),
)


def up(_migrator: object, db: Any) -> None:
    for table in TABLES:
        db.execute_sql(table)
    for kind, name, columns in INDEXES:
        db.execute_sql(f"CREATE {kind} IF NOT EXISTS {name} ON {columns}")
