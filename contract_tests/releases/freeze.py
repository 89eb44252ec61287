"""Writes the schema and the contract of a release: ``python -m contract_tests.releases.freeze 1.0.0``.

Run it once for each release that is tested from, when the release is cut. ``build.py`` reads the schema,
``make breaks`` compares with the contract.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contract_tests.releases.build import POSTGRESQL, SQLITE, schema_file
from contract_tests.servers import PostgresServer
from models import database
from tooling.contract_breaks import RELEASES, ROOT

# What makes the schema. Rows of a new database are those of its history alone.
KEPT = ("CREATE", "ALTER", "DROP TRIGGER")


def schema_of(url: str) -> str:
    """The statements that make an empty database of this release."""
    connected = database.connect(url)
    said: list[str] = []
    run = connected.execute_sql

    def record(sql: str, *values: Any, **options: Any) -> Any:
        if sql.lstrip().startswith(KEPT):
            said.append(_tidy(sql))
        return run(sql, *values, **options)

    connected.execute_sql = record  # type: ignore[method-assign]
    names = database.migrate()
    said += [
        f"INSERT INTO schema_migration (name, applied) VALUES ('{name}', '2026-12-01 00:00:00')"  # noqa: S608 - our own names
        for name in names
    ]
    return ";\n".join(said) + ";\n"


def _tidy(sql: str) -> str:
    return "\n".join(line.strip() for line in sql.strip().splitlines() if line.strip()).rstrip(";")


@contextmanager
def _empty(dialect: str) -> Iterator[str]:
    if dialect == SQLITE:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite://{Path(folder).absolute()}/gateway.db"
    else:
        with PostgresServer() as server:
            yield server.database("frozen")


def main(release: str) -> None:
    """Write the files of a release."""
    for dialect in (SQLITE, POSTGRESQL):
        with _empty(dialect) as url:
            schema_file(release, dialect).write_text(schema_of(url))
    contract = (ROOT / "openapi.yaml").read_text()
    (RELEASES / f"{release}.openapi.yaml").write_text(contract)


if __name__ == "__main__":
    main(sys.argv[1])
