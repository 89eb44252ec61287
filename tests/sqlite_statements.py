"""Statements by SQLite's C interface, whose counters Python's does not show."""

import _sqlite3
import ctypes
from collections.abc import Sequence
from typing import Any

from models.database import database

OK, ROW, TRANSIENT, REPREPARED = 0, 100, -1, 5
RUNS = 3


def times_planned(sql: str, values: Sequence[Any]) -> int:
    """How often SQLite plans a statement again while it runs RUNS times, and changes nothing."""
    # The library of Python's own module, which may be built in.
    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    connection, statement = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.sqlite3_open(database.obj.database.encode(), ctypes.byref(connection)) == OK
    try:
        assert library.sqlite3_exec(connection, b"BEGIN", None, None, None) == OK
        prepared = library.sqlite3_prepare_v2(
            connection, sql.encode(), -1, ctypes.byref(statement), None
        )
        assert prepared == OK, sql
        for _ in range(RUNS):
            for index, value in enumerate(values, 1):
                assert _bind(library, statement, index, value) == OK
            while library.sqlite3_step(statement) == ROW:
                pass
            library.sqlite3_reset(statement)
        return int(library.sqlite3_stmt_status(statement, REPREPARED, 0))
    finally:
        library.sqlite3_finalize(statement)
        library.sqlite3_exec(connection, b"ROLLBACK", None, None, None)
        library.sqlite3_close(connection)


def _bind(library: ctypes.CDLL, statement: ctypes.c_void_p, index: int, value: Any) -> int:
    if value is None:
        return int(library.sqlite3_bind_null(statement, index))
    if isinstance(value, int):
        return int(library.sqlite3_bind_int64(statement, index, ctypes.c_int64(value)))
    data = value if isinstance(value, bytes) else str(value).encode()
    bind = library.sqlite3_bind_blob if isinstance(value, bytes) else library.sqlite3_bind_text
    return int(bind(statement, index, data, len(data), ctypes.c_void_p(TRANSIENT)))
