-- The messages number $first to $last and their contacts, for a database of the gateway (benchmarks/search.py). A line
-- with a semicolon separates the statements. They run on SQLite and PostgreSQL.
--
-- A text has an order number, which is unique, and ten of 32,768 words. Each text contains north or south, never both.
-- One in 65,536 contains zanzibar.

INSERT INTO message (
    id, account_id, number_id, direction, from_number, to_number, type, body_json, status, wa_message_id, created_at
)
WITH RECURSIVE
places (place, account_id, number_id) AS (VALUES $places),
series (n) AS (SELECT CAST($first AS BIGINT) UNION ALL SELECT n + 1 FROM series WHERE n < $last),
timed (n, at) AS (SELECT n, CAST($begin AS BIGINT) + n * CAST($span AS BIGINT) / $count FROM series)
SELECT
    'msg_' || $time_part || substr(CAST(10000000000000000 + n AS TEXT), 2),
    account_id,
    number_id,
    'OUTBOUND',
    '15550001111',
    '1555' || substr(CAST(10000000 + (n & 131071) AS TEXT), 2),
    'text',
    '{"body": "Your order ' || CAST(n AS TEXT) || ' for the '
    || CASE WHEN n & 32 = 0 THEN 'north' ELSE 'south' END
    || CASE WHEN n & 65535 = 4096 THEN ' of zanzibar ' ELSE ' ' END
    || $words || '"}',
    'read',
    'wamid.' || CAST((n * 2654435761) & 4294967295 AS TEXT) || '_' || CAST(n AS TEXT),
    at
FROM timed JOIN places ON place = n & 15
;

INSERT INTO contact (id, account_id, number_id, phone, username, name, created_at)
WITH RECURSIVE
places (place, account_id, number_id) AS (VALUES $places),
series (n) AS (SELECT CAST($first_contact AS BIGINT) UNION ALL SELECT n + 1 FROM series WHERE n < $last_contact),
timed (n, at) AS (SELECT n, CAST($begin AS BIGINT) + n FROM series)
SELECT
    'ctc_' || $time_part || substr(CAST(10000000000000000 + n AS TEXT), 2),
    account_id,
    number_id,
    '1555' || substr(CAST(10000000 + n AS TEXT), 2),
    CASE WHEN n & 3 = 0 THEN 'person.' || CAST(n AS TEXT) END,
    $name || CASE WHEN n & 65535 = 4096 THEN ' Zanzibar' ELSE '' END,
    at
FROM timed JOIN places ON place = n & 15
