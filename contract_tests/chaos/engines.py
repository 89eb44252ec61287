"""The database and queue of the service in a storm, and the relays to them.

SQLite is a library in each process and dies with it. PostgreSQL and Redis are the storm's own servers.
PostgreSQL has its commits on disk, Redis loses all data in a kill, and PgBouncer holds no data.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from contract_tests.backends import PGBOUNCER, POSTGRESQL, REDIS, SQLITE
from contract_tests.full_disk import may_mount, small_disk
from contract_tests.relay import Relay
from contract_tests.server_process import Server
from contract_tests.servers import PgBouncer, PostgresServer, RedisServer

# The servers accept any password from this machine. It exists so that tests can look for it in logs.
PASSWORD = "correct-horse-battery"
MEMORY = "memory"
# The pool size of PgBouncer: fewer connections than the service's processes have.
POOL_SIZE = "6"
# Room for a large storm. PostgreSQL keeps little WAL, so that a full disk has an effect soon.
DISK_SIZE = 320 * 1024 * 1024
SMALL_LOG = {"max_wal_size": "64MB", "min_wal_size": "32MB"}


@dataclass(frozen=True)
class Engines:
    """The servers by name, the relays to them, and the settings of a service.

    With ``direct`` the address bypasses the relays.
    """

    direct: Mapping[str, str]
    servers: Mapping[str, Server] = field(default_factory=dict)
    lines: Mapping[str, Relay] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of a service that connects through the relays."""
        found = dict(self.direct)
        for server, line in self.lines.items():
            ports = f":{self.servers[server].port}/", f":{line.port}/"
            found = {name: url.replace(*ports) for name, url in found.items()}
        return found


@contextmanager
def engines(backend: str) -> Iterator[Engines]:
    """Servers, if the backend needs any, while the block runs."""
    urls = {"DATABASE_URL": "", "QUEUE_URL": "", "RATE_LIMIT_URL": MEMORY}
    servers: dict[str, Server] = {}
    with ExitStack() as stack:
        if backend != SQLITE:
            postgres = PostgresServer(durable=True, track_commit_timestamp="on", **SMALL_LOG)
            if may_mount():
                stack.callback(shutil.rmtree, postgres.folder)
                stack.enter_context(small_disk(postgres.folder, DISK_SIZE))
            servers[POSTGRESQL] = stack.enter_context(postgres)
            url = postgres.database("storm")
            if backend == PGBOUNCER:
                pooler = PgBouncer(postgres, default_pool_size=POOL_SIZE)
                servers[PGBOUNCER] = stack.enter_context(pooler)
                url = pooler.url("storm")
            urls["DATABASE_URL"] = _with_password(url, "postgres")
        if backend == REDIS:
            servers[REDIS] = redis = stack.enter_context(RedisServer())
            url = _with_password(redis.url(0), "default")
            urls |= {"QUEUE_URL": url, "RATE_LIMIT_URL": url}
        # PgBouncer has a separate relay to PostgreSQL.
        used = {name: s for name, s in servers.items() if f":{s.port}/" in " ".join(urls.values())}
        lines = {name: Relay(server.port) for name, server in used.items()}
        for line in lines.values():
            stack.callback(line.cut)
        yield Engines({f"GATEWAY_{name}": url for name, url in urls.items()}, servers, lines)


def _with_password(url: str, user: str) -> str:
    scheme, _, place = url.partition("://")
    return f"{scheme}://{user}:{PASSWORD}@{place.rpartition('@')[2]}"
