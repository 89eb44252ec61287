"""The databases and queues of a gateway, by their names in the tables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.machine import memory
from contract_tests.server_process import Server
from contract_tests.servers import PostgresServer, RedisServer

SQLITE, POSTGRESQL_AND_REDIS = "SQLite", "PostgreSQL+Redis"


@dataclass(frozen=True)
class Backend:
    """The settings of a backend, and its servers by name."""

    settings: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, Server] = field(default_factory=dict)


@contextmanager
def running_backend(name: str, *, durable: bool = False) -> Iterator[Backend]:
    """A backend. Its servers run inside the block. ``durable`` ones wait for the disk."""
    if name == SQLITE:
        yield Backend()
        return
    # A quarter of the machine's memory, as PostgreSQL's documentation recommends. The default is 128 MB.
    buffers = f"{memory() // 4 // 2**20}MB"
    with (
        PostgresServer(durable=durable, shared_buffers=buffers) as postgresql,
        RedisServer(durable=durable) as redis,
    ):
        url = redis.url(0)
        settings = {
            "GATEWAY_DATABASE_URL": postgresql.database("gateway"),
            "GATEWAY_QUEUE_URL": url,
            "GATEWAY_RATE_LIMIT_URL": url,
        }
        yield Backend(settings, {"PostgreSQL": postgresql, "Redis": redis})
