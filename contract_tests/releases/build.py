"""Builds a database as an earlier release left it: its schema, and rows in each of its tables.

Nothing here uses the models, which change with the releases.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from contract_tests.releases.rows import ROWS

SQLITE, POSTGRESQL = "sqlite", "postgresql"
# The oldest release that upgrades.
OLDEST = "1.0.0"


def schema_file(release: str, dialect: str) -> Path:
    """The statements that make the schema of a release. ``freeze.py`` wrote them."""
    return Path(__file__).parent / f"{release}.{dialect}.sql"


def build(url: str, release: str = OLDEST) -> None:
    """Fill the empty database behind ``url``, ``sqlite:///...`` or ``postgresql://...``."""
    if url.startswith("postgresql:"):
        # Literals take the type of their column.
        with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as server:
            server.execute(schema_file(release, POSTGRESQL).read_bytes())
            for table, row in _all_rows():
                server.execute(_insert(table, row, "%s").encode(), list(row.values()))
        return
    path = Path(url.removeprefix("sqlite://"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript(schema_file(release, SQLITE).read_text())
        for table, row in _all_rows():
            file.execute(_insert(table, row, "?"), list(row.values()))


def _all_rows() -> list[tuple[str, Mapping[str, Any]]]:
    return [(table, row) for table, rows in ROWS.items() for row in rows]


def _insert(table: str, row: Mapping[str, Any], slot: str) -> str:
    slots = ", ".join([slot] * len(row))
    return f'INSERT INTO "{table}" ({", ".join(row)}) VALUES ({slots})'  # noqa: S608 - our own words
