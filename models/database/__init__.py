"""The database: models and transactions for all, and the engines behind them."""

from models.database.engine import (
    answers_at_once,
    appending,
    commit,
    connect,
    database,
    is_postgresql,
    migrate,
    pending_migrations,
    read,
    reading,
    write,
    writing,
)
from models.database.rows import BaseModel, Prepared, PreparedSelect, Rows, is_in

__all__ = [
    "BaseModel",
    "Prepared",
    "PreparedSelect",
    "Rows",
    "answers_at_once",
    "appending",
    "commit",
    "connect",
    "database",
    "is_in",
    "is_postgresql",
    "migrate",
    "pending_migrations",
    "read",
    "reading",
    "write",
    "writing",
]
