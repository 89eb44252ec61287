"""A PostgreSQL of a test module's own, which its tests may cut, kill and start again."""

from collections.abc import Iterator

import pytest

from contract_tests.servers import PostgresServer
from models.database.postgresql import PostgresEngine


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


@pytest.fixture
def engine(url: str) -> Iterator[PostgresEngine]:
    """On the database behind the module's own fixture ``url``.

    It has a single connection: whatever keeps it, or leaves it in disorder, stops all that follows.
    """
    one = PostgresEngine(url, connections=1)
    yield one
    one.close_all()
