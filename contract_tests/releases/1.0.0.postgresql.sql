CREATE TABLE IF NOT EXISTS "schema_migration" ("id" SERIAL NOT NULL PRIMARY KEY, "name" VARCHAR(255) NOT NULL, "applied" TIMESTAMP NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS "schema_migration_name" ON "schema_migration" ("name");
CREATE TABLE IF NOT EXISTS "account" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT NOT NULL, "plan" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "suspended_at" BIGINT, "stop_text" TEXT NOT NULL, "start_text" TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS "alert_target" ("account_id" TEXT NOT NULL PRIMARY KEY, "emails" TEXT NOT NULL, "sealed_url" TEXT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE TABLE IF NOT EXISTS "api_key" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "name" TEXT NOT NULL, "digest" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "revoked_at" BIGINT, "last_used_at" BIGINT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "api_key_account_id" ON "api_key" ("account_id");
CREATE UNIQUE INDEX IF NOT EXISTS "api_key_digest" ON "api_key" ("digest");
CREATE TABLE IF NOT EXISTS "api_request" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "key_id" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "operation" TEXT NOT NULL, "method" TEXT NOT NULL, "path" TEXT NOT NULL, "query" TEXT NOT NULL, "status" INTEGER NOT NULL, "duration_ms" INTEGER NOT NULL, "request_id" TEXT NOT NULL, "error_json" TEXT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "api_request_account_id_id" ON "api_request" ("account_id", "id");
CREATE INDEX IF NOT EXISTS "api_request_failed" ON "api_request" ("account_id", "id") WHERE status >= 400;
CREATE TABLE IF NOT EXISTS "webhook" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "url" TEXT NOT NULL, "sealed_secret" TEXT NOT NULL, "events_json" TEXT NOT NULL, "number_ids_json" TEXT NOT NULL, "active" BOOLEAN NOT NULL, "failure_count" INTEGER NOT NULL, "slow" BOOLEAN NOT NULL, "deactivated_at" BIGINT, "created_at" BIGINT NOT NULL, "deactivated_because" TEXT, "secret_changed_at" BIGINT, "previous_sealed_secret" TEXT, "trial_minute_at" BIGINT, "trial_events" INTEGER NOT NULL, "deleted_at" BIGINT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "webhook_account_id" ON "webhook" ("account_id");
CREATE INDEX IF NOT EXISTS "webhook_deleted" ON "webhook" ("deleted_at") WHERE deleted_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "event" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "kind" TEXT NOT NULL, "number_id" TEXT NOT NULL, "subject_id" TEXT NOT NULL, "payload" TEXT NOT NULL, "once_key" TEXT, "created_at" BIGINT NOT NULL, "position" BIGINT NOT NULL DEFAULT 0, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "event_subject_id" ON "event" ("subject_id");
CREATE UNIQUE INDEX IF NOT EXISTS "event_once_key" ON "event" ("once_key");
CREATE INDEX IF NOT EXISTS "event_account_id_position_id" ON "event" ("account_id", "position", "id");
CREATE TABLE IF NOT EXISTS "delivery" ("id" TEXT NOT NULL PRIMARY KEY, "webhook_id" TEXT NOT NULL, "event_id" TEXT NOT NULL, "event_kind" TEXT NOT NULL, "state" TEXT NOT NULL, "attempt_count" INTEGER NOT NULL, "tries" INTEGER NOT NULL, "next_attempt_at" BIGINT, "lease_token" TEXT, "created_at" BIGINT NOT NULL, "completed_at" BIGINT, "due" BOOLEAN NOT NULL, FOREIGN KEY ("webhook_id") REFERENCES "webhook" ("id") ON DELETE CASCADE, FOREIGN KEY ("event_id") REFERENCES "event" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "delivery_webhook_id_id" ON "delivery" ("webhook_id", "id");
CREATE UNIQUE INDEX IF NOT EXISTS "delivery_event_id_webhook_id" ON "delivery" ("event_id", "webhook_id");
CREATE INDEX IF NOT EXISTS "delivery_pending" ON "delivery" ("webhook_id", "next_attempt_at") WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS "delivery_leased" ON "delivery" ("webhook_id") WHERE lease_token IS NOT NULL;
CREATE INDEX IF NOT EXISTS "delivery_due" ON "delivery" ("webhook_id", "next_attempt_at") WHERE due;
CREATE INDEX IF NOT EXISTS "delivery_due_again" ON "delivery" ("webhook_id") WHERE due AND tries > 0;
CREATE INDEX IF NOT EXISTS "delivery_waiting" ON "delivery" ("next_attempt_at") WHERE state = 'pending' AND NOT due;
CREATE INDEX IF NOT EXISTS "delivery_undelivered" ON "delivery" ("webhook_id", "id") WHERE state IN ('failed', 'skipped');
CREATE INDEX IF NOT EXISTS "delivery_rare" ON "delivery" ("webhook_id", "id") WHERE event_kind NOT IN ('message.received', 'message.sent', 'message.delivered', 'message.read');
CREATE TABLE IF NOT EXISTS "attempt" ("id" TEXT NOT NULL PRIMARY KEY, "delivery_id" TEXT NOT NULL, "number" INTEGER NOT NULL, "started_at" BIGINT NOT NULL, "duration_ms" INTEGER NOT NULL, "success" BOOLEAN NOT NULL, "status_code" INTEGER, "error" TEXT, "response_body" TEXT, FOREIGN KEY ("delivery_id") REFERENCES "delivery" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "attempt_delivery_id" ON "attempt" ("delivery_id");
CREATE TABLE IF NOT EXISTS "attempt_total" ("webhook_id" TEXT NOT NULL, "width" INTEGER NOT NULL, "start" BIGINT NOT NULL, "delivered" INTEGER NOT NULL, "retried" INTEGER NOT NULL, "failed" INTEGER NOT NULL, "bucket_0" INTEGER NOT NULL, "bucket_1" INTEGER NOT NULL, "bucket_2" INTEGER NOT NULL, "bucket_3" INTEGER NOT NULL, "bucket_4" INTEGER NOT NULL, "bucket_5" INTEGER NOT NULL, "bucket_6" INTEGER NOT NULL, "bucket_7" INTEGER NOT NULL, "bucket_8" INTEGER NOT NULL, "bucket_9" INTEGER NOT NULL, "bucket_10" INTEGER NOT NULL, "bucket_11" INTEGER NOT NULL, "bucket_12" INTEGER NOT NULL, "bucket_13" INTEGER NOT NULL, "bucket_14" INTEGER NOT NULL, "bucket_15" INTEGER NOT NULL, "bucket_16" INTEGER NOT NULL, "bucket_17" INTEGER NOT NULL, "bucket_18" INTEGER NOT NULL, "bucket_19" INTEGER NOT NULL, "bucket_20" INTEGER NOT NULL, "bucket_21" INTEGER NOT NULL, "bucket_22" INTEGER NOT NULL, "bucket_23" INTEGER NOT NULL, "bucket_24" INTEGER NOT NULL, "bucket_25" INTEGER NOT NULL, "bucket_26" INTEGER NOT NULL, "bucket_27" INTEGER NOT NULL, PRIMARY KEY ("webhook_id", "width", "start"), FOREIGN KEY ("webhook_id") REFERENCES "webhook" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "attempt_total_width_start" ON "attempt_total" ("width", "start");
CREATE TABLE IF NOT EXISTS "audit" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "at" BIGINT NOT NULL, "user_id" TEXT, "who" TEXT NOT NULL, "address" TEXT NOT NULL, "action" TEXT NOT NULL, "subject" TEXT, "detail_json" TEXT NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "audit_account_id_id" ON "audit" ("account_id", "id");
CREATE TABLE IF NOT EXISTS "callback" ("id" TEXT NOT NULL PRIMARY KEY, "body" BYTEA NOT NULL, "received_at" BIGINT NOT NULL, "ingested_at" BIGINT, "tries" INTEGER NOT NULL, "error" TEXT, "due_at" BIGINT, "lease_token" TEXT);
CREATE INDEX IF NOT EXISTS "callback_ingested" ON "callback" ("ingested_at") WHERE ingested_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS "callback_due" ON "callback" ("due_at", "id") WHERE due_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "number" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "phone_number_id" TEXT NOT NULL, "waba_id" TEXT NOT NULL, "phone_number" TEXT NOT NULL, "display_name" TEXT, "status" TEXT NOT NULL, "sealed_token" TEXT NOT NULL, "sealed_pin" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "activated_at" BIGINT, "check_due_at" BIGINT, "check_tries" INTEGER NOT NULL, "quality_rating" TEXT, "messaging_limit" TEXT, "reason" TEXT, "notice_json" TEXT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "number_account_id" ON "number" ("account_id");
CREATE INDEX IF NOT EXISTS "number_phone_number_id" ON "number" ("phone_number_id");
CREATE INDEX IF NOT EXISTS "number_waba_id" ON "number" ("waba_id");
CREATE INDEX IF NOT EXISTS "number_check_due_at" ON "number" ("check_due_at");
CREATE UNIQUE INDEX IF NOT EXISTS "number_account_id_phone_number_id" ON "number" ("account_id", "phone_number_id");
CREATE UNIQUE INDEX IF NOT EXISTS "number_connected_once" ON "number" ("phone_number_id") WHERE status <> 'DISCONNECTED';
CREATE TABLE IF NOT EXISTS "contact" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "number_id" TEXT NOT NULL, "phone" TEXT, "user_id" TEXT, "parent_user_id" TEXT, "username" TEXT, "name" TEXT, "note" TEXT, "opted_out_at" BIGINT, "opted_out_because" TEXT, "created_at" BIGINT NOT NULL, "merged_into" TEXT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"), FOREIGN KEY ("number_id") REFERENCES "number" ("id"));
CREATE UNIQUE INDEX IF NOT EXISTS "contact_phone" ON "contact" ("number_id", "phone") WHERE phone IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS "contact_user_id" ON "contact" ("number_id", "user_id") WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS "contact_parent_user_id" ON "contact" ("number_id", "parent_user_id") WHERE parent_user_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS "contact_of_account" ON "contact" ("account_id", "id") WHERE merged_into IS NULL;
CREATE INDEX IF NOT EXISTS "contact_of_number" ON "contact" ("number_id", "id") WHERE merged_into IS NULL;
CREATE INDEX IF NOT EXISTS "contact_username" ON "contact" ("account_id", "username") WHERE username IS NOT NULL;
CREATE INDEX IF NOT EXISTS "contact_name" ON "contact" ("account_id", "name", "id") WHERE name IS NOT NULL AND merged_into IS NULL;
CREATE INDEX IF NOT EXISTS "contact_merged_into" ON "contact" ("merged_into") WHERE merged_into IS NOT NULL;
CREATE TABLE IF NOT EXISTS "contact_change" ("id" BIGSERIAL NOT NULL PRIMARY KEY, "contact_id" TEXT NOT NULL, "field" TEXT NOT NULL, "old" TEXT, "new" TEXT, "because" TEXT NOT NULL, "at" BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS "contact_change_contact_id" ON "contact_change" ("contact_id");
CREATE TABLE IF NOT EXISTS "delivery_tally" ("webhook_id" TEXT NOT NULL, "event_kind" TEXT NOT NULL, "state" TEXT NOT NULL, "shard" INTEGER NOT NULL, "total" BIGINT NOT NULL, PRIMARY KEY ("webhook_id", "event_kind", "state", "shard"));
CREATE TABLE IF NOT EXISTS "erasure" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "number_id" TEXT NOT NULL, "contact_id" TEXT NOT NULL, "contact_ids_json" TEXT NOT NULL, "known_ids_json" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "due_at" BIGINT NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE TABLE IF NOT EXISTS "heartbeat" ("name" TEXT NOT NULL PRIMARY KEY, "at" BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS "message" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "number_id" TEXT NOT NULL, "contact_id" TEXT, "direction" TEXT NOT NULL, "from_number" TEXT NOT NULL, "to_number" TEXT NOT NULL, "type" TEXT NOT NULL, "body_json" TEXT NOT NULL, "status" TEXT NOT NULL, "wa_message_id" TEXT, "error_code" TEXT, "error_message" TEXT, "quoted_id" TEXT, "quoted_wa_id" TEXT, "created_at" BIGINT NOT NULL, "changed_at" BIGINT, "acceptance" TEXT, "pricing_json" TEXT, "pricing_status" TEXT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"), FOREIGN KEY ("number_id") REFERENCES "number" ("id"));
CREATE INDEX IF NOT EXISTS "message_account_id_id" ON "message" ("account_id", "id");
CREATE INDEX IF NOT EXISTS "message_number_id_id" ON "message" ("number_id", "id");
CREATE UNIQUE INDEX IF NOT EXISTS "message_wa_message_id_number_id" ON "message" ("wa_message_id", "number_id");
CREATE INDEX IF NOT EXISTS "message_unarrived" ON "message" ("account_id", "id") WHERE status IN ('pending', 'unknown', 'sent', 'failed');
CREATE INDEX IF NOT EXISTS "message_unsettled" ON "message" ("id") WHERE status IN ('pending', 'unknown');
CREATE INDEX IF NOT EXISTS "message_inbound" ON "message" ("account_id", "id") WHERE direction = 'INBOUND';
CREATE INDEX IF NOT EXISTS "message_time" ON "message" ("account_id", "created_at", "id");
CREATE INDEX IF NOT EXISTS "message_rare_type" ON "message" ("account_id", "type", "id") WHERE type NOT IN ('text', 'template');
CREATE INDEX IF NOT EXISTS "message_contact" ON "message" ("contact_id", "id") WHERE contact_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS "idempotency_key" ("id" BIGSERIAL NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "key" TEXT NOT NULL, "fingerprint" TEXT NOT NULL, "message_id" TEXT, "response_status" INTEGER, "response_body" TEXT, "retry_after" INTEGER, "created_at" BIGINT NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"), FOREIGN KEY ("message_id") REFERENCES "message" ("id") ON DELETE SET NULL);
CREATE INDEX IF NOT EXISTS "idempotency_key_message_id" ON "idempotency_key" ("message_id");
CREATE INDEX IF NOT EXISTS "idempotency_key_created_at" ON "idempotency_key" ("created_at");
CREATE UNIQUE INDEX IF NOT EXISTS "idempotency_key_account_id_key" ON "idempotency_key" ("account_id", "key");
CREATE TABLE IF NOT EXISTS "incident" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "kind" TEXT NOT NULL, "subject" TEXT NOT NULL, "title" TEXT NOT NULL, "detail" TEXT NOT NULL, "path" TEXT NOT NULL, "began_at" BIGINT NOT NULL, "cleared_at" BIGINT, "ended_at" BIGINT, "told_json" TEXT NOT NULL, "end_told_json" TEXT NOT NULL, "due_at" BIGINT, "tries" INTEGER NOT NULL, "lease_token" TEXT, "error" TEXT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "incident_account_id" ON "incident" ("account_id");
CREATE UNIQUE INDEX IF NOT EXISTS "incident_open" ON "incident" ("account_id", "kind", "subject") WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS "incident_due" ON "incident" ("due_at") WHERE due_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "invitation" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "email" TEXT NOT NULL, "role" TEXT NOT NULL, "digest" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "expires_at" BIGINT NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "invitation_account_id" ON "invitation" ("account_id");
CREATE UNIQUE INDEX IF NOT EXISTS "invitation_digest" ON "invitation" ("digest");
CREATE TABLE IF NOT EXISTS "message_hour" ("account_id" TEXT NOT NULL, "hour" BIGINT NOT NULL, "status" TEXT NOT NULL, "shard" INTEGER NOT NULL, "total" BIGINT NOT NULL, PRIMARY KEY ("account_id", "hour", "status", "shard"));
CREATE INDEX IF NOT EXISTS "message_hour_hour" ON "message_hour" ("hour");
CREATE INDEX IF NOT EXISTS "message_hour_sharded" ON "message_hour" ("shard") WHERE shard <> 0;
CREATE TABLE IF NOT EXISTS "message_tally" ("account_id" TEXT NOT NULL, "number_id" TEXT NOT NULL, "direction" TEXT NOT NULL, "status" TEXT NOT NULL, "shard" INTEGER NOT NULL, "total" BIGINT NOT NULL, PRIMARY KEY ("account_id", "number_id", "direction", "status", "shard"));
CREATE TABLE IF NOT EXISTS "notice" ("id" TEXT NOT NULL PRIMARY KEY, "digest" TEXT NOT NULL, "waba_id" TEXT NOT NULL, "number_id" TEXT, "phone_number" TEXT, "field" TEXT NOT NULL, "event" TEXT NOT NULL, "value_json" TEXT NOT NULL, "at" BIGINT NOT NULL, FOREIGN KEY ("number_id") REFERENCES "number" ("id"));
CREATE UNIQUE INDEX IF NOT EXISTS "notice_digest" ON "notice" ("digest");
CREATE INDEX IF NOT EXISTS "notice_waba_id" ON "notice" ("waba_id");
CREATE INDEX IF NOT EXISTS "notice_number_id" ON "notice" ("number_id");
CREATE TABLE IF NOT EXISTS "user" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "email" TEXT NOT NULL, "password_hash" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "role" TEXT NOT NULL, "signed_in_at" BIGINT, "sealed_totp" TEXT, "totp_since" BIGINT, "totp_step" BIGINT NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "user_account_id" ON "user" ("account_id");
CREATE UNIQUE INDEX IF NOT EXISTS "user_email" ON "user" ("email");
CREATE TABLE IF NOT EXISTS "password_reset" ("id" TEXT NOT NULL PRIMARY KEY, "user_id" TEXT NOT NULL, "digest" TEXT NOT NULL, "expires_at" BIGINT NOT NULL, FOREIGN KEY ("user_id") REFERENCES "user" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "password_reset_user_id" ON "password_reset" ("user_id");
CREATE UNIQUE INDEX IF NOT EXISTS "password_reset_digest" ON "password_reset" ("digest");
CREATE TABLE IF NOT EXISTS "pending_sign_in" ("id" TEXT NOT NULL PRIMARY KEY, "user_id" TEXT NOT NULL, "digest" TEXT NOT NULL, "created_at" BIGINT NOT NULL, FOREIGN KEY ("user_id") REFERENCES "user" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "pending_sign_in_user_id" ON "pending_sign_in" ("user_id");
CREATE UNIQUE INDEX IF NOT EXISTS "pending_sign_in_digest" ON "pending_sign_in" ("digest");
CREATE TABLE IF NOT EXISTS "recovery_code" ("id" TEXT NOT NULL PRIMARY KEY, "user_id" TEXT NOT NULL, "digest" TEXT NOT NULL, FOREIGN KEY ("user_id") REFERENCES "user" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "recovery_code_user_id" ON "recovery_code" ("user_id");
CREATE UNIQUE INDEX IF NOT EXISTS "recovery_code_digest" ON "recovery_code" ("digest");
CREATE TABLE IF NOT EXISTS "redelivery" ("id" TEXT NOT NULL PRIMARY KEY, "webhook_id" TEXT NOT NULL, "states_json" TEXT NOT NULL, "delivery_ids_json" TEXT NOT NULL, FOREIGN KEY ("webhook_id") REFERENCES "webhook" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "redelivery_webhook_id" ON "redelivery" ("webhook_id");
CREATE TABLE IF NOT EXISTS "search_block" ("id" TEXT NOT NULL PRIMARY KEY, "last_id" TEXT NOT NULL, "account_id" TEXT NOT NULL, "number" BIGINT NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS "search_block_number" ON "search_block" ("number");
CREATE INDEX IF NOT EXISTS "search_block_account_id_id" ON "search_block" ("account_id", "id");
CREATE TABLE IF NOT EXISTS "set_aside" ("id" TEXT NOT NULL PRIMARY KEY, "reason" TEXT NOT NULL, "phone_number_id" TEXT, "wa_message_id" TEXT, "body" BYTEA NOT NULL, "fingerprint" TEXT NOT NULL, "error" TEXT, "created_at" BIGINT NOT NULL, "settled_at" BIGINT);
CREATE INDEX IF NOT EXISTS "set_aside_settled_at_reason_id" ON "set_aside" ("settled_at", "reason", "id");
CREATE UNIQUE INDEX IF NOT EXISTS "set_aside_fingerprint" ON "set_aside" ("fingerprint") WHERE settled_at IS NULL;
CREATE INDEX IF NOT EXISTS "set_aside_message" ON "set_aside" ("wa_message_id") WHERE settled_at IS NULL;
CREATE TABLE IF NOT EXISTS "sign_in_attempt" ("id" TEXT NOT NULL PRIMARY KEY, "subject" TEXT NOT NULL, "at" BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS "sign_in_attempt_subject_at" ON "sign_in_attempt" ("subject", "at");
CREATE TABLE IF NOT EXISTS "signup_link" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "slug" TEXT NOT NULL, "number_id" TEXT, "created_at" BIGINT NOT NULL, "expires_at" BIGINT NOT NULL, "used_at" BIGINT, "revoked_at" BIGINT, FOREIGN KEY ("account_id") REFERENCES "account" ("id"), FOREIGN KEY ("number_id") REFERENCES "number" ("id"));
CREATE INDEX IF NOT EXISTS "signup_link_account_id" ON "signup_link" ("account_id");
CREATE UNIQUE INDEX IF NOT EXISTS "signup_link_slug" ON "signup_link" ("slug");
CREATE INDEX IF NOT EXISTS "signup_link_number_id" ON "signup_link" ("number_id");
CREATE TABLE IF NOT EXISTS "signup" ("id" TEXT NOT NULL PRIMARY KEY, "link_id" TEXT NOT NULL, "code_hash" TEXT NOT NULL, "sealed_token" TEXT NOT NULL, "number_id" TEXT, "sealed_pin" TEXT, "created_at" BIGINT NOT NULL, FOREIGN KEY ("link_id") REFERENCES "signup_link" ("id") ON DELETE CASCADE, FOREIGN KEY ("number_id") REFERENCES "number" ("id"));
CREATE UNIQUE INDEX IF NOT EXISTS "signup_link_id_code_hash" ON "signup" ("link_id", "code_hash");
CREATE TABLE IF NOT EXISTS "status_change" ("id" BIGSERIAL NOT NULL PRIMARY KEY, "message_id" TEXT NOT NULL, "status" TEXT NOT NULL, "at" BIGINT NOT NULL, "error_code" TEXT, "error_message" TEXT, FOREIGN KEY ("message_id") REFERENCES "message" ("id") ON DELETE CASCADE);
CREATE UNIQUE INDEX IF NOT EXISTS "status_change_message_id_status" ON "status_change" ("message_id", "status");
CREATE TABLE IF NOT EXISTS "template" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "waba_id" TEXT NOT NULL, "network_id" TEXT NOT NULL, "name" TEXT NOT NULL, "language" TEXT NOT NULL, "status" TEXT NOT NULL, "category" TEXT NOT NULL, "components_json" TEXT NOT NULL, "parameter_format" TEXT, "quality_score" TEXT, "rejected_reason" TEXT, "told_at" BIGINT NOT NULL, "updated_at" BIGINT NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "template_account_id" ON "template" ("account_id");
CREATE UNIQUE INDEX IF NOT EXISTS "template_account_id_waba_id_network_id" ON "template" ("account_id", "waba_id", "network_id");
CREATE INDEX IF NOT EXISTS "template_account_id_waba_id_name_language" ON "template" ("account_id", "waba_id", "name", "language");
CREATE INDEX IF NOT EXISTS "template_rejected" ON "template" ("account_id") WHERE status = 'REJECTED';
CREATE TABLE IF NOT EXISTS "template_list" ("id" TEXT NOT NULL PRIMARY KEY, "account_id" TEXT NOT NULL, "waba_id" TEXT NOT NULL, "read_at" BIGINT, "due_at" BIGINT NOT NULL, "tries" INTEGER NOT NULL, "version" INTEGER NOT NULL, FOREIGN KEY ("account_id") REFERENCES "account" ("id"));
CREATE INDEX IF NOT EXISTS "template_list_account_id" ON "template_list" ("account_id");
CREATE INDEX IF NOT EXISTS "template_list_due_at" ON "template_list" ("due_at");
CREATE UNIQUE INDEX IF NOT EXISTS "template_list_waba_id_account_id" ON "template_list" ("waba_id", "account_id");
CREATE TABLE IF NOT EXISTS "usage_total" ("account_id" TEXT NOT NULL, "day" TEXT NOT NULL, "number_id" TEXT NOT NULL, "direction" TEXT NOT NULL, "category" TEXT NOT NULL, "billable" BOOLEAN NOT NULL, "total" BIGINT NOT NULL, PRIMARY KEY ("account_id", "day", "number_id", "direction", "category", "billable"));
CREATE TABLE IF NOT EXISTS "user_session" ("id" TEXT NOT NULL PRIMARY KEY, "user_id" TEXT NOT NULL, "digest" TEXT NOT NULL, "created_at" BIGINT NOT NULL, "last_used_at" BIGINT NOT NULL, "address" TEXT NOT NULL, "browser" TEXT NOT NULL, FOREIGN KEY ("user_id") REFERENCES "user" ("id") ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS "user_session_user_id" ON "user_session" ("user_id");
CREATE UNIQUE INDEX IF NOT EXISTS "user_session_digest" ON "user_session" ("digest");
CREATE TABLE IF NOT EXISTS search_words (
rowid BIGINT PRIMARY KEY REFERENCES search_block (number) ON DELETE CASCADE,
words TSVECTOR NOT NULL
);
CREATE INDEX IF NOT EXISTS search_words_words ON search_words USING gin (words);
CREATE FUNCTION message_tally_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF TG_OP <> 'INSERT' THEN
INSERT INTO message_tally (account_id, number_id, direction, status, shard, total) VALUES (OLD.account_id, OLD.number_id, OLD.direction, OLD.status, pg_backend_pid(), - 1)
ON CONFLICT (account_id, number_id, direction, status, shard) DO UPDATE SET total = message_tally.total - 1;
END IF;
IF TG_OP <> 'DELETE' THEN
INSERT INTO message_tally (account_id, number_id, direction, status, shard, total) VALUES (NEW.account_id, NEW.number_id, NEW.direction, NEW.status, pg_backend_pid(), + 1)
ON CONFLICT (account_id, number_id, direction, status, shard) DO UPDATE SET total = message_tally.total + 1;
END IF;
RETURN NULL;
END
$$;
CREATE TRIGGER message_tally_in_out AFTER INSERT OR DELETE ON message
FOR EACH ROW EXECUTE FUNCTION message_tally_keep();
CREATE TRIGGER message_tally_move AFTER UPDATE OF status ON message
FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION message_tally_keep();
CREATE FUNCTION message_hour_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF TG_OP <> 'INSERT' THEN
INSERT INTO message_hour (account_id, hour, status, shard, total) VALUES (OLD.account_id, OLD.created_at / 3600000, OLD.status, pg_backend_pid(), - 1)
ON CONFLICT (account_id, hour, status, shard) DO UPDATE SET total = message_hour.total - 1;
END IF;
IF TG_OP <> 'DELETE' THEN
INSERT INTO message_hour (account_id, hour, status, shard, total) VALUES (NEW.account_id, NEW.created_at / 3600000, NEW.status, pg_backend_pid(), + 1)
ON CONFLICT (account_id, hour, status, shard) DO UPDATE SET total = message_hour.total + 1;
END IF;
RETURN NULL;
END
$$;
CREATE TRIGGER message_hour_in_out AFTER INSERT OR DELETE ON message
FOR EACH ROW EXECUTE FUNCTION message_hour_keep();
CREATE TRIGGER message_hour_move AFTER UPDATE OF status ON message
FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION message_hour_keep();
CREATE FUNCTION delivery_tally_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
IF TG_OP <> 'INSERT' THEN
INSERT INTO delivery_tally (webhook_id, event_kind, state, shard, total) VALUES (OLD.webhook_id, OLD.event_kind, OLD.state, pg_backend_pid(), - 1)
ON CONFLICT (webhook_id, event_kind, state, shard) DO UPDATE SET total = delivery_tally.total - 1;
END IF;
IF TG_OP <> 'DELETE' THEN
INSERT INTO delivery_tally (webhook_id, event_kind, state, shard, total) VALUES (NEW.webhook_id, NEW.event_kind, NEW.state, pg_backend_pid(), + 1)
ON CONFLICT (webhook_id, event_kind, state, shard) DO UPDATE SET total = delivery_tally.total + 1;
END IF;
RETURN NULL;
END
$$;
CREATE TRIGGER delivery_tally_in_out AFTER INSERT OR DELETE ON delivery
FOR EACH ROW EXECUTE FUNCTION delivery_tally_keep();
CREATE TRIGGER delivery_tally_move AFTER UPDATE OF state ON delivery
FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION delivery_tally_keep();
ALTER TABLE event ALTER COLUMN position SET DEFAULT pg_current_xact_id()::text::bigint;
CREATE TABLE IF NOT EXISTS "schema_migration" ("id" SERIAL NOT NULL PRIMARY KEY, "name" VARCHAR(255) NOT NULL, "applied" TIMESTAMP NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS "schema_migration_name" ON "schema_migration" ("name");
INSERT INTO schema_migration (name, applied) VALUES ('0001_schema', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0002_less_on_record', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0003_people', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0004_pricing', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0005_templates', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0006_quality', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0007_finding', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0008_events', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0009_users', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0010_search', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0011_overview', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0012_incidents', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0013_requests', '2026-12-01 00:00:00');
INSERT INTO schema_migration (name, applied) VALUES ('0014_erasures', '2026-12-01 00:00:00');
