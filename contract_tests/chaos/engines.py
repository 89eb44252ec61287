"""What keeps the state of the service in a storm, and the ways in which it ends and comes back.

SQLite is a library in each process, and dies with them. PostgreSQL and Redis are servers of the storm's own:
PostgreSQL has on disk what it committed, Redis forgets all that it held, and PgBouncer holds nothing.
"""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from contract_tests.backends import PGBOUNCER, REDIS, SQLITE
from contract_tests.server_process import Server
from contract_tests.servers import PgBouncer, PostgresServer, RedisServer

# The servers trust everybody on this machine, whatever the password: it is there to be looked for in logs.
PASSWORD = "correct-horse-battery"
MEMORY = "memory"
# Of PgBouncer: fewer than the service's processes have connections.
POOL_SIZE = "6"


@dataclass(frozen=True)
class Outage:
    """One way in which a server ends. ``is_felt``: nothing can be sent until it is back."""

    server: Server
    begin: Callable[[], None]
    is_felt: bool


@dataclass(frozen=True)
class Engines:
    """The settings of a service on them, and the outages by their names."""

    settings: Mapping[str, str]
    outages: Mapping[str, Outage]


@contextmanager
def engines(backend: str) -> Iterator[Engines]:
    """Servers, where the backend needs some, for as long as the block runs."""
    urls = {"DATABASE_URL": "", "QUEUE_URL": "", "RATE_LIMIT_URL": MEMORY}
    outages: dict[str, Outage] = {}
    with ExitStack() as stack:
        if backend != SQLITE:
            postgres = stack.enter_context(PostgresServer(durable=True))
            url = postgres.database("storm")
            outages |= _outages_of_postgresql(postgres)
            if backend == PGBOUNCER:
                pooler = stack.enter_context(PgBouncer(postgres, default_pool_size=POOL_SIZE))
                url = pooler.url("storm")
                outages = {
                    "postgresql killed": outages["postgresql killed"],
                    "pgbouncer killed": Outage(pooler, pooler.kill, is_felt=True),
                }
            urls["DATABASE_URL"] = _with_password(url, "postgres")
        if backend == REDIS:
            redis = stack.enter_context(RedisServer())
            url = _with_password(redis.url(0), "default")
            urls |= {"QUEUE_URL": url, "RATE_LIMIT_URL": url}
            outages |= {
                "redis killed": Outage(redis, redis.kill, is_felt=False),
                "redis stopped": Outage(redis, redis.stop, is_felt=False),
            }
        yield Engines({f"GATEWAY_{name}": url for name, url in urls.items()}, outages)


def _with_password(url: str, user: str) -> str:
    scheme, _, place = url.partition("://")
    return f"{scheme}://{user}:{PASSWORD}@{place.rpartition('@')[2]}"


def _outages_of_postgresql(server: PostgresServer) -> dict[str, Outage]:
    def stop_at_once() -> None:
        """Without a checkpoint or a word to those who are connected: the next start recovers."""
        assert server.process is not None
        server.process.send_signal(signal.SIGQUIT)
        server.stop()

    return {
        "postgresql killed": Outage(server, server.kill, is_felt=True),
        "postgresql stopped": Outage(server, server.stop, is_felt=True),
        "postgresql stopped at once": Outage(server, stop_at_once, is_felt=True),
    }
