-- The messages number $first to $last with their related rows, for a database of the gateway. A line with a semicolon
-- separates the statements. They run on SQLite and PostgreSQL. They use bits instead of remainders, because the driver
-- takes a percent sign for a parameter.
--
-- Identifiers have the product's form: a prefix, ten characters of time, and sixteen others. Here the latter are the
-- message's number, its step and the attempt, so that related rows have similar identifiers.

INSERT INTO message (
    id, account_id, number_id, direction, from_number, to_number, type, body_json, status, wa_message_id, created_at
)
WITH RECURSIVE
places (place, account_id, number_id) AS (VALUES $places),
series (n) AS (SELECT CAST($first AS BIGINT) UNION ALL SELECT n + 1 FROM series WHERE n < $last),
timed (n, at, is_inbound) AS (
    SELECT n, CAST($begin AS BIGINT) + n * CAST($span AS BIGINT) / $count, (n / 16) & 7 = 1 FROM series
),
staged (n, at, status) AS (
    SELECT n, at, CASE
        WHEN is_inbound THEN 'received'
        WHEN n + 4 >= $count THEN 'pending'
        WHEN n + 20 >= $count THEN 'sent'
        WHEN (n / 16) & 31 = 4 THEN 'failed'
        WHEN (n / 16) & 3 = 2 THEN 'delivered'
        ELSE 'read'
    END FROM timed
)
SELECT
    'msg_'
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 45) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 40) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 35) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 30) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 25) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 20) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 15) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 10) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST(((at >> 5) & 31) + 1 AS INTEGER), 1)
    || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', CAST((at & 31) + 1 AS INTEGER), 1)
    || substr(CAST(10000000000000000 + n * 100 AS TEXT), 2),
    account_id,
    number_id,
    CASE WHEN status = 'received' THEN 'INBOUND' ELSE 'OUTBOUND' END,
    '15550001111',
    '15551234567',
    'text',
    '{"body": "Your order has left our warehouse and arrives on Tuesday between nine and eleven."}',
    status,
    -- Unordered, like the network's identifiers.
    CASE WHEN status <> 'pending' THEN
        'wamid.HBgLMTU1NTEyMzQ1NjcVAgARGBI' || CAST((n * 2654435761) & 4294967295 AS TEXT) || '_' || CAST(n AS TEXT)
    END,
    at
FROM staged JOIN places ON place = n & 15
;

INSERT INTO status_change (message_id, status, at)
WITH steps (became, step, status) AS (VALUES
    ('received', 0, 'received'), ('pending', 0, 'pending'), ('sent', 0, 'pending'), ('sent', 1, 'sent'),
    ('failed', 0, 'pending'), ('failed', 1, 'sent'), ('failed', 2, 'failed'),
    ('delivered', 0, 'pending'), ('delivered', 1, 'sent'), ('delivered', 2, 'delivered'),
    ('read', 0, 'pending'), ('read', 1, 'sent'), ('read', 2, 'delivered'), ('read', 3, 'read')
)
SELECT message.id, steps.status, message.created_at + 1000 * step
FROM message JOIN steps ON became = message.status
WHERE message.id >= '$first_id' AND message.id < '$last_id'
ORDER BY message.id, step
;

INSERT INTO event (id, account_id, kind, number_id, subject_id, payload, once_key, created_at)
WITH steps (became, step, kind) AS (VALUES
    ('received', 0, 'message.received'), ('sent', 1, 'message.sent'),
    ('failed', 1, 'message.sent'), ('failed', 2, 'message.failed'),
    ('delivered', 1, 'message.sent'), ('delivered', 2, 'message.delivered'),
    ('read', 1, 'message.sent'), ('read', 2, 'message.delivered'), ('read', 3, 'message.read')
)
SELECT
    'evt_' || substr(message.id, 5, 24) || CAST(step AS TEXT) || '0',
    account_id,
    kind,
    number_id,
    message.id,
    '{"event":"' || kind || '","timestamp":"2026-11-20T09:30:00.000Z","data":{"id":"' || message.id
    || '","numberId":"' || number_id || '","direction":"' || direction || '","fromNumber":"' || from_number
    || '","toNumber":"' || to_number || '","type":"text","body":' || body_json
    || ',"createdAt":"2026-11-20T09:30:00.000Z","waMessageId":"' || wa_message_id
    || '","status":"' || message.status || '","error":null}}',
    kind || ':' || message.id,
    message.created_at + 1000 * step
FROM message JOIN steps ON became = message.status
WHERE message.id >= '$first_id' AND message.id < '$last_id'
ORDER BY message.id, step
;

INSERT INTO delivery (
    id, webhook_id, event_id, event_kind, state, due, attempt_count, tries, next_attempt_at, created_at, completed_at
)
WITH numbered (id, webhook_id, event_kind, created_at, n, step) AS (
    SELECT event.id, webhook.id, kind, event.created_at,
        CAST(substr(event.id, 15, 14) AS BIGINT), CAST(substr(event.id, 29, 1) AS INTEGER)
    FROM event JOIN webhook ON webhook.account_id = event.account_id
    WHERE event.id >= '$first_event_id' AND event.id < '$last_event_id'
),
fated (id, webhook_id, event_kind, created_at, state, attempts) AS (
    SELECT id, webhook_id, event_kind, created_at,
        CASE
            WHEN n + 20 >= $count THEN 'pending'
            WHEN (n + n / 16 + step) & 63 = 0 THEN 'failed'
            WHEN (n + n / 16 + step) & 63 = 1 THEN 'skipped'
            ELSE 'delivered'
        END,
        CASE
            WHEN n + 20 >= $count THEN 1
            WHEN (n + n / 16 + step) & 63 = 0 THEN 4
            WHEN (n + n / 16 + step) & 63 = 1 THEN 0
            WHEN (n + n / 16 + step) & 31 = 2 THEN 2
            ELSE 1
        END
    FROM numbered
)
SELECT
    'dlv_' || substr(id, 5),
    webhook_id,
    id,
    event_kind,
    state,
    FALSE,
    attempts,
    attempts,
    CASE WHEN state = 'pending' THEN CAST($begin AS BIGINT) + CAST($span AS BIGINT) + 1200000 END,
    created_at,
    CASE WHEN state <> 'pending' THEN created_at + 30 END
FROM fated
ORDER BY id
;

INSERT INTO attempt (
    id, delivery_id, number, started_at, duration_ms, success, status_code, error, response_body
)
WITH attempts (number) AS (VALUES (1), (2), (3), (4)),
answered (id, number, started_at, success) AS (
    SELECT delivery.id, number, delivery.created_at + 5, state = 'delivered' AND number = attempt_count
    FROM delivery JOIN attempts ON number <= attempt_count
    WHERE delivery.id >= '$first_delivery_id' AND delivery.id < '$last_delivery_id'
)
SELECT
    'att_' || substr(id, 5, 25) || CAST(number AS TEXT),
    id,
    number,
    started_at,
    23,
    success,
    CASE WHEN success THEN 200 ELSE 503 END,
    CASE WHEN success THEN NULL ELSE 'The receiver returned 503.' END,
    CASE WHEN success THEN '{"received":true}' ELSE '<html><body>503 Service Unavailable</body></html>' END
FROM answered
ORDER BY id, number
;

-- The hourly totals of models.deliveries.attempt, in the bucket of 23 ms.
INSERT INTO attempt_total (webhook_id, width, start, delivered, retried, failed, $buckets)
SELECT
    webhook_id,
    $width,
    started_at / $width * $width,
    SUM(CASE WHEN success THEN 1 ELSE 0 END),
    SUM(CASE WHEN NOT success AND number < attempt_count THEN 1 ELSE 0 END),
    SUM(CASE WHEN NOT success AND number = attempt_count THEN 1 ELSE 0 END),
    $counts
FROM attempt JOIN delivery ON delivery.id = delivery_id
WHERE delivery.id >= '$first_delivery_id' AND delivery.id < '$last_delivery_id'
GROUP BY 1, 2, 3
ON CONFLICT (webhook_id, width, start) DO UPDATE SET
    delivered = attempt_total.delivered + EXCLUDED.delivered,
    retried = attempt_total.retried + EXCLUDED.retried,
    failed = attempt_total.failed + EXCLUDED.failed,
    $bucket = attempt_total.$bucket + EXCLUDED.$bucket
;

INSERT INTO idempotency_key (
    account_id, key, fingerprint, message_id, response_status, response_body, created_at
)
SELECT
    account_id,
    'order-' || substr(wa_message_id, 34),
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    id,
    200,
    '{"id":"' || id || '","wa_message_id":"' || wa_message_id || '","status":"sent"}',
    created_at
FROM message
WHERE id >= '$first_id' AND id < '$last_id' AND direction = 'OUTBOUND' AND wa_message_id IS NOT NULL
    AND created_at > CAST($begin AS BIGINT) + CAST($span AS BIGINT) - 86400000
;
