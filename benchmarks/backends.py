"""What a gateway keeps its state in, by the name that a table gives it."""

from collections.abc import Iterator
from contextlib import contextmanager

from contract_tests.servers import PostgresServer, RedisServer

SQLITE, POSTGRESQL_AND_REDIS = "SQLite", "PostgreSQL+Redis"


@contextmanager
def backend_settings(name: str) -> Iterator[dict[str, str]]:
    """The settings of a backend, whose servers run inside."""
    if name == SQLITE:
        yield {}
        return
    with PostgresServer() as postgresql, RedisServer() as redis:
        url = redis.url(0)
        yield {
            "GATEWAY_DATABASE_URL": postgresql.database("gateway"),
            "GATEWAY_QUEUE_URL": url,
            "GATEWAY_RATE_LIMIT_URL": url,
        }
