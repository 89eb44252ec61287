"""Settings of PostgreSQL as somebody else may have set them. They must change no result.

``make wrong-settings`` sets all of them on the role with which tests and services connect.
"""

from psycopg import Connection, sql

from contract_tests.servers import POSTGRES_USER

# A value of each pinned setting that somebody else may have chosen, and others that once did harm or might.
WRONG = {
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "bytea_output": "escape",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "TimeZone": "Asia/Kathmandu",
    "extra_float_digits": "-15",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "gin_fuzzy_search_limit": "1",
    "row_security": "off",
    "exit_on_error": "on",
    "client_min_messages": "debug5",
    "plan_cache_mode": "force_custom_plan",
    "session_replication_role": "replica",
    "zero_damaged_pages": "on",
    "ignore_checksum_failure": "on",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "idle_session_timeout": "60s",
    "synchronous_commit": "off",
    "client_encoding": "LATIN1",
    "default_transaction_read_only": "on",
    "search_path": "nowhere",
    "enable_seqscan": "off",
    "enable_indexscan": "off",
    "quote_all_identifiers": "on",
    "default_text_search_config": "pg_catalog.english",
    "work_mem": "64kB",
}


def of_role(name: str = POSTGRES_USER) -> sql.Composed:
    """The role with this name, for ``set_on``."""
    return sql.SQL("ROLE {}").format(sql.Identifier(name))


def of_database(name: str) -> sql.Composed:
    """The database with this name, for ``set_on``."""
    return sql.SQL("DATABASE {}").format(sql.Identifier(name))


def set_on(
    connection: Connection[tuple[object, ...]], target: sql.Composed, settings: dict[str, str]
) -> None:
    """Set these on the role or database, for new sessions."""
    for setting, value in settings.items():
        chosen = sql.Identifier(setting), sql.Literal(value)
        connection.execute(sql.SQL("ALTER {} SET {} = {}").format(target, *chosen))
