"""The settings of PostgreSQL that each session has. They override those of server, database and role.

``models/database/session.py`` applies them; docs/operations.md, Settings of PostgreSQL, describes them.
"""

# How texts, bytes, times and numbers look.
_FORMATS = {
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "bytea_output": "hex",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
}
# What statements mean, and how they fail.
_MEANINGS = {
    "array_nulls": "on",
    "transform_null_equals": "off",
    "gin_fuzzy_search_limit": "0",
    "row_security": "on",
    "exit_on_error": "off",
    "client_min_messages": "warning",
    "plan_cache_mode": "auto",
}
# Only a superuser may set these. For other roles ``gateway doctor`` reports a wrong value.
PRIVILEGED = {
    "session_replication_role": "origin",
    "zero_damaged_pages": "off",
    "ignore_checksum_failure": "off",
}
# A transaction says at its beginning that it does not use these.
OUTSIDE = {
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    "idle_session_timeout": "0",
}
# Options in the URL take precedence over these. A stricter synchronous_commit stays.
LENIENT = {"synchronous_commit": "on", "transaction_timeout": "0"}

# What only the server's own configuration sets. ``gateway doctor`` reports other values.
DURABLE = {"fsync": "on", "full_page_writes": "on"}
OF_THE_SERVER = DURABLE | {"default_transaction_read_only": "off"}

PINNED = _FORMATS | _MEANINGS | PRIVILEGED | OUTSIDE

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE"
# For a role or database that is read-only by default. A server that is read-only by its own configuration is
# left so: operators fence a former primary like that.
BEGIN_WRITABLE = f"{BEGIN}, READ WRITE"
