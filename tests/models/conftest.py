"""A PostgreSQL server for one test module, which its tests may disconnect, kill and restart."""

from collections.abc import Iterator

import psycopg
import pytest

from contract_tests.servers import PostgresServer
from models.database.postgresql import PostgresEngine


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


@pytest.fixture(scope="module")
def kept(server: PostgresServer) -> str:
    """The URL of a database with one table, for a fixture ``url``."""
    address = server.database("kept")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE kept (value int)")
    return address


@pytest.fixture
def engine(url: str) -> Iterator[PostgresEngine]:
    """An engine on the database of the module's fixture ``url``.

    It has one connection, so a test that keeps or breaks it fails all later statements.
    """
    one = PostgresEngine(url, connections=1)
    yield one
    one.close_all()
