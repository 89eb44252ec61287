"""The first schema: tables, indexes, and the triggers that keep the totals of lists.

A later change of models/ comes with a migration of its own and leaves this file as it is.
"""

from typing import Any

from peewee import NotSupportedError, PostgresqlDatabase

# The last migration of unreleased versions. It left the same tables; other indexes and triggers do no harm.
LAST_UNRELEASED = "0017_deleted_webhooks"

# In PostgreSQL's words.
SCHEMA = """
CREATE TABLE account (
    id VARCHAR NOT NULL PRIMARY KEY,
    name TEXT NOT NULL, plan VARCHAR NOT NULL,
    created_at BIGINT NOT NULL, suspended_at BIGINT
);
CREATE TABLE api_key (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    name TEXT NOT NULL, digest VARCHAR NOT NULL,
    created_at BIGINT NOT NULL, revoked_at BIGINT, last_used_at BIGINT
);
CREATE INDEX apikey_account_id ON api_key (account_id);
CREATE UNIQUE INDEX apikey_digest ON api_key (digest);

CREATE TABLE "user" (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    email VARCHAR NOT NULL, password_hash TEXT NOT NULL, created_at BIGINT NOT NULL
);
CREATE INDEX user_account_id ON "user" (account_id);
CREATE UNIQUE INDEX user_email ON "user" (email);
CREATE TABLE user_session (
    id VARCHAR NOT NULL PRIMARY KEY,
    user_id VARCHAR NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    digest VARCHAR NOT NULL, created_at BIGINT NOT NULL, last_used_at BIGINT NOT NULL
);
CREATE INDEX usersession_user_id ON user_session (user_id);
CREATE UNIQUE INDEX usersession_digest ON user_session (digest);
CREATE TABLE sign_in_attempt (
    id VARCHAR NOT NULL PRIMARY KEY, subject VARCHAR NOT NULL, at BIGINT NOT NULL
);
CREATE INDEX signinattempt_subject_at ON sign_in_attempt (subject, at);

CREATE TABLE number (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    phone_number_id VARCHAR NOT NULL, waba_id VARCHAR NOT NULL, phone_number VARCHAR NOT NULL,
    display_name TEXT, status VARCHAR NOT NULL,
    sealed_token TEXT NOT NULL, sealed_pin TEXT NOT NULL,
    created_at BIGINT NOT NULL, activated_at BIGINT,
    check_due_at BIGINT, check_tries INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX number_account_id ON number (account_id);
CREATE INDEX number_phone_number_id ON number (phone_number_id);
CREATE INDEX number_waba_id ON number (waba_id);
CREATE INDEX number_check_due_at ON number (check_due_at);
CREATE UNIQUE INDEX number_account_id_phone_number_id ON number (account_id, phone_number_id);
CREATE UNIQUE INDEX number_connected_once ON number (phone_number_id)
    WHERE status <> 'DISCONNECTED';
CREATE TABLE signup_link (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    slug VARCHAR NOT NULL, number_id VARCHAR REFERENCES number (id),
    created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, used_at BIGINT, revoked_at BIGINT
);
CREATE INDEX signuplink_account_id ON signup_link (account_id);
CREATE INDEX signuplink_number_id ON signup_link (number_id);
CREATE UNIQUE INDEX signuplink_slug ON signup_link (slug);
CREATE TABLE signup (
    id VARCHAR NOT NULL PRIMARY KEY,
    link_id VARCHAR NOT NULL REFERENCES signup_link (id) ON DELETE CASCADE,
    code_hash VARCHAR NOT NULL, phone_number_id VARCHAR NOT NULL, waba_id VARCHAR NOT NULL,
    phone_number VARCHAR NOT NULL, display_name TEXT, number_id VARCHAR REFERENCES number (id),
    sealed_token TEXT, sealed_pin TEXT, step VARCHAR NOT NULL, error_code VARCHAR,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE INDEX signup_number_id ON signup (number_id);
CREATE UNIQUE INDEX signup_link_id_code_hash ON signup (link_id, code_hash);
CREATE TABLE notice (
    id VARCHAR NOT NULL PRIMARY KEY, digest VARCHAR NOT NULL,
    waba_id VARCHAR NOT NULL, number_id VARCHAR REFERENCES number (id), phone_number VARCHAR,
    field VARCHAR NOT NULL, event VARCHAR NOT NULL, value_json TEXT NOT NULL, at BIGINT NOT NULL
);
CREATE INDEX notice_number_id ON notice (number_id);
CREATE INDEX notice_waba_id ON notice (waba_id);
CREATE UNIQUE INDEX notice_digest ON notice (digest);

CREATE TABLE message (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    number_id VARCHAR NOT NULL REFERENCES number (id), direction VARCHAR NOT NULL,
    from_number VARCHAR NOT NULL, to_number VARCHAR NOT NULL,
    type VARCHAR NOT NULL, body_json TEXT NOT NULL, status VARCHAR NOT NULL,
    wa_message_id TEXT, error_code TEXT, error_message TEXT, created_at BIGINT NOT NULL
);
CREATE INDEX message_account_id_id ON message (account_id, id);
CREATE INDEX message_number_id_id ON message (number_id, id);
CREATE UNIQUE INDEX message_wa_message_id_number_id ON message (wa_message_id, number_id);
CREATE INDEX message_unarrived ON message (account_id, id)
    WHERE status IN ('pending', 'unknown', 'sent', 'failed');
CREATE INDEX message_unsettled ON message (id) WHERE status IN ('pending', 'unknown');
CREATE INDEX message_inbound ON message (account_id, id) WHERE direction = 'INBOUND';
CREATE TABLE message_tally (
    account_id TEXT NOT NULL, number_id TEXT NOT NULL, direction TEXT NOT NULL,
    status TEXT NOT NULL, shard INTEGER NOT NULL, total BIGINT NOT NULL,
    PRIMARY KEY (account_id, number_id, direction, status, shard)
);
CREATE TABLE status_change (
    id BIGSERIAL NOT NULL PRIMARY KEY,
    message_id VARCHAR NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    status VARCHAR NOT NULL, at BIGINT NOT NULL, error_code TEXT, error_message TEXT
);
CREATE INDEX statuschange_message_id ON status_change (message_id);
CREATE TABLE idempotency_key (
    id BIGSERIAL NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    key VARCHAR NOT NULL, fingerprint VARCHAR NOT NULL,
    message_id VARCHAR NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    response_status INTEGER, response_body TEXT, retry_after INTEGER, created_at BIGINT NOT NULL
);
CREATE INDEX idempotencykey_created_at ON idempotency_key (created_at);
CREATE INDEX idempotencykey_message_id ON idempotency_key (message_id);
CREATE UNIQUE INDEX idempotencykey_account_id_key ON idempotency_key (account_id, key);

CREATE TABLE webhook (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    url TEXT NOT NULL, sealed_secret TEXT NOT NULL, previous_sealed_secret TEXT,
    secret_changed_at BIGINT, events_json TEXT NOT NULL, number_ids_json TEXT NOT NULL,
    active BOOLEAN NOT NULL, failure_count INTEGER NOT NULL, slow BOOLEAN NOT NULL,
    deactivated_at BIGINT, deactivated_because VARCHAR,
    trial_minute_at BIGINT, trial_events INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL, deleted_at BIGINT
);
CREATE INDEX webhook_account_id ON webhook (account_id);
CREATE INDEX webhook_deleted ON webhook (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE TABLE redelivery (
    id VARCHAR NOT NULL PRIMARY KEY, call_id VARCHAR NOT NULL,
    webhook_id VARCHAR NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
    states_json TEXT NOT NULL, delivery_ids_json TEXT NOT NULL, created_at BIGINT NOT NULL
);
CREATE INDEX redelivery_webhook_id ON redelivery (webhook_id);
CREATE TABLE event (
    id VARCHAR NOT NULL PRIMARY KEY, account_id VARCHAR NOT NULL REFERENCES account (id),
    kind VARCHAR NOT NULL, number_id VARCHAR NOT NULL, subject_id VARCHAR NOT NULL,
    payload TEXT NOT NULL, once_key VARCHAR, created_at BIGINT NOT NULL
);
CREATE INDEX event_subject_id ON event (subject_id);
CREATE UNIQUE INDEX event_once_key ON event (once_key);

CREATE TABLE delivery (
    id VARCHAR NOT NULL PRIMARY KEY,
    webhook_id VARCHAR NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
    event_id VARCHAR NOT NULL REFERENCES event (id) ON DELETE CASCADE,
    event_kind VARCHAR NOT NULL, state VARCHAR NOT NULL,
    attempt_count INTEGER NOT NULL, tries INTEGER NOT NULL,
    due BOOLEAN NOT NULL DEFAULT false, next_attempt_at BIGINT, lease_token VARCHAR,
    created_at BIGINT NOT NULL, completed_at BIGINT
);
CREATE INDEX delivery_webhook_id_id ON delivery (webhook_id, id);
CREATE UNIQUE INDEX delivery_event_id_webhook_id ON delivery (event_id, webhook_id);
CREATE INDEX delivery_pending ON delivery (webhook_id, next_attempt_at) WHERE state = 'pending';
CREATE INDEX delivery_leased ON delivery (webhook_id) WHERE lease_token IS NOT NULL;
CREATE INDEX delivery_due ON delivery (webhook_id, next_attempt_at) WHERE due;
CREATE INDEX delivery_due_again ON delivery (webhook_id) WHERE due AND tries > 0;
CREATE INDEX delivery_waiting ON delivery (next_attempt_at) WHERE state = 'pending' AND NOT due;
CREATE INDEX delivery_undelivered ON delivery (webhook_id, id)
    WHERE state IN ('failed', 'skipped');
CREATE INDEX delivery_rare ON delivery (webhook_id, id) WHERE event_kind NOT IN
    ('message.received', 'message.sent', 'message.delivered', 'message.read');
CREATE TABLE delivery_tally (
    webhook_id TEXT NOT NULL, event_kind TEXT NOT NULL, state TEXT NOT NULL,
    shard INTEGER NOT NULL, total BIGINT NOT NULL,
    PRIMARY KEY (webhook_id, event_kind, state, shard)
);
CREATE TABLE attempt (
    id VARCHAR NOT NULL PRIMARY KEY,
    delivery_id VARCHAR NOT NULL REFERENCES delivery (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, started_at BIGINT NOT NULL, duration_ms INTEGER NOT NULL,
    success BOOLEAN NOT NULL, status_code INTEGER, error TEXT, response_body TEXT
);
CREATE INDEX attempt_delivery_id ON attempt (delivery_id);

CREATE TABLE callback (
    id VARCHAR NOT NULL PRIMARY KEY, body BYTEA NOT NULL,
    received_at BIGINT NOT NULL, ingested_at BIGINT, tries INTEGER NOT NULL, error TEXT,
    due_at BIGINT, lease_token VARCHAR
);
CREATE INDEX callback_ingested ON callback (ingested_at) WHERE ingested_at IS NOT NULL;
CREATE INDEX callback_due ON callback (due_at, id) WHERE due_at IS NOT NULL;
CREATE TABLE set_aside (
    id VARCHAR NOT NULL PRIMARY KEY, reason VARCHAR NOT NULL,
    phone_number_id VARCHAR, wa_message_id TEXT, body BYTEA NOT NULL,
    fingerprint VARCHAR NOT NULL, error TEXT, created_at BIGINT NOT NULL, settled_at BIGINT
);
CREATE INDEX setaside_settled_at_reason_id ON set_aside (settled_at, reason, id);
CREATE UNIQUE INDEX set_aside_fingerprint ON set_aside (fingerprint) WHERE settled_at IS NULL;
CREATE INDEX set_aside_message ON set_aside (wa_message_id) WHERE settled_at IS NULL;
CREATE TABLE heartbeat (name VARCHAR NOT NULL PRIMARY KEY, at BIGINT NOT NULL)
"""
SQLITE_TYPES = {
    "BIGSERIAL": "INTEGER",
    "BIGINT": "INTEGER",
    "BOOLEAN": "INTEGER",
    "BYTEA": "BLOB",
    "VARCHAR": "VARCHAR(255)",
}

# The keys of the tallies. Only the last column of a key ever changes.
TALLIES = {
    "message": ("account_id", "number_id", "direction", "status"),
    "delivery": ("webhook_id", "event_kind", "state"),
}
SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER {table}_tally_in AFTER INSERT ON {table} BEGIN
        INSERT INTO {table}_tally ({key}, shard, total) VALUES ({new}, 0, 1)
        ON CONFLICT ({key}, shard) DO UPDATE SET total = total + 1;
    END
    """,
    """
    CREATE TRIGGER {table}_tally_out AFTER DELETE ON {table} BEGIN
        UPDATE {table}_tally SET total = total - 1 WHERE ({key}, shard) = ({old}, 0);
    END
    """,
    """
    CREATE TRIGGER {table}_tally_move AFTER UPDATE OF {moves} ON {table}
    WHEN OLD.{moves} <> NEW.{moves} BEGIN
        UPDATE {table}_tally SET total = total - 1 WHERE ({key}, shard) = ({old}, 0);
        INSERT INTO {table}_tally ({key}, shard, total) VALUES ({new}, 0, 1)
        ON CONFLICT ({key}, shard) DO UPDATE SET total = total + 1;
    END
    """,
)
POSTGRESQL_TRIGGERS = (
    """
    CREATE FUNCTION {table}_tally_keep() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO {table}_tally ({key}, shard, total) VALUES ({old}, pg_backend_pid(), -1)
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total - 1;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO {table}_tally ({key}, shard, total) VALUES ({new}, pg_backend_pid(), 1)
            ON CONFLICT ({key}, shard) DO UPDATE SET total = {table}_tally.total + 1;
        END IF;
        RETURN NULL;
    END
    $$
    """,
    """
    CREATE TRIGGER {table}_tally_in_out AFTER INSERT OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {table}_tally_keep()
    """,
    """
    CREATE TRIGGER {table}_tally_move AFTER UPDATE OF {moves} ON {table}
    FOR EACH ROW WHEN (OLD.{moves} <> NEW.{moves}) EXECUTE FUNCTION {table}_tally_keep()
    """,
)


def up(_migrator: object, db: Any) -> None:
    (last,) = db.execute_sql("SELECT MAX(name) FROM schema_migration").fetchone()
    if last is None:
        _create(db)
    elif last != LAST_UNRELEASED:
        raise NotSupportedError(
            f"{last} is its last migration, of an unreleased version; first run gateway migrate of the last "
            f"commit that has models/migrations/{LAST_UNRELEASED}.py"
        )


def _create(db: Any) -> None:
    on_postgresql, schema = isinstance(db, PostgresqlDatabase), SCHEMA
    if not on_postgresql:
        for theirs, ours in SQLITE_TYPES.items():
            schema = schema.replace(theirs, ours)
    for statement in schema.split(";"):
        db.execute_sql(statement)
    for table, key in TALLIES.items():
        for trigger in POSTGRESQL_TRIGGERS if on_postgresql else SQLITE_TRIGGERS:
            db.execute_sql(_filled(trigger, table, key))


def _filled(trigger: str, table: str, key: tuple[str, ...]) -> str:
    return trigger.format(
        table=table,
        key=", ".join(key),
        new=", ".join(f"NEW.{column}" for column in key),
        old=", ".join(f"OLD.{column}" for column in key),
        moves=key[-1],
    )
