"""A database that cannot be read for a while."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from contract_tests.harness import Gateway


@contextmanager
def without_table(gateway: Gateway, table: str) -> Iterator[None]:
    """The running service's database with this table out of its reach."""
    _rename(gateway, table, "out_of_reach")
    try:
        yield
    finally:
        _rename(gateway, "out_of_reach", table)


def _rename(gateway: Gateway, table: str, name: str) -> None:
    with closing(sqlite3.connect(gateway.folder / "var" / "gateway.db", timeout=20)) as database:
        database.execute(f"ALTER TABLE {table} RENAME TO {name}")
        database.commit()
