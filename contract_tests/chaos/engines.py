"""The database and queue of the service in a storm, and the relays to them.

SQLite is a library in each process and dies with it. PostgreSQL and Redis are the storm's own servers.
PostgreSQL has its commits on disk and on a synchronous standby, Redis loses all data in a kill, and PgBouncer
holds no data.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from contract_tests.backends import PGBOUNCER, POSTGRESQL, REDIS, SQLITE
from contract_tests.failover.pair import Member, Pair
from contract_tests.full_disk import may_mount, small_disk
from contract_tests.relay import HOST, Relay
from contract_tests.server_process import Server
from contract_tests.servers import POSTGRES_USER, PgBouncer, RedisServer

# The servers accept any password from this machine. It exists so that tests can look for it in logs.
PASSWORD = "correct-horse-battery"
MEMORY = "memory"
DATABASE = "storm"
# The pool size of PgBouncer: fewer connections than the service's processes have.
POOL_SIZE = "6"
# Room for a large storm. PostgreSQL keeps little WAL, so that a full disk has an effect soon.
DISK_SIZE = 320 * 1024 * 1024
SMALL_LOG = {"max_wal_size": "64MB", "min_wal_size": "32MB"}


@dataclass
class Engines:
    """The servers, and the relays to those that the service connects to."""

    pair: Pair | None = None
    pooler: PgBouncer | None = None
    redis: RedisServer | None = None
    _lines: dict[Server, Relay] = field(default_factory=dict)

    @property
    def servers(self) -> Mapping[str, Server]:
        """The servers by name. The one of PostgreSQL is the present primary."""
        primary = self.pair and self.pair.primary
        found = {POSTGRESQL: primary, PGBOUNCER: self.pooler, REDIS: self.redis}
        return {name: server for name, server in found.items() if server}

    @property
    def lines(self) -> Mapping[str, Relay]:
        """The relays between the service and its servers, by the name of the server."""
        named = self.servers.items()
        return {name: self._lines[server] for name, server in named if server in self._lines}

    @property
    def direct(self) -> Mapping[str, str]:
        """The addresses of the servers as settings of a service. They bypass the relays and PgBouncer."""
        members = self.pair.members if self.pair else ()
        redis = self.redis.port if self.redis else 0
        return self._settings([member.port for member in members], redis)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of a service that connects through the relays."""
        ports = {server: line.port for server, line in self._lines.items()}
        databases = [port for server, port in ports.items() if server is not self.redis]
        return self._settings(databases, ports[self.redis] if self.redis else 0)

    def relay(self) -> None:
        """Start the relays."""
        members = self.pair.members if self.pair else ()
        # PgBouncer has its own connections to PostgreSQL.
        databases = (self.pooler,) if self.pooler else members
        self._lines = {s: Relay(s.port) for s in (*databases, self.redis) if s}

    def fail_over(self) -> None:
        """Promote the standby, and send PgBouncer's clients to it."""
        assert self.pair is not None
        self.pair.promote()
        if self.pooler:
            self.pooler.switch_to(self.pair.primary.port)

    def close(self) -> None:
        """Stop the relays."""
        for line in self._lines.values():
            line.cut()

    def _settings(self, databases: list[int], redis: int) -> Mapping[str, str]:
        found = {"DATABASE_URL": "", "QUEUE_URL": "", "RATE_LIMIT_URL": MEMORY}
        if databases:
            hosts = ",".join(f"{HOST}:{port}" for port in databases)
            # With one host it is PgBouncer, which always connects to the primary.
            attributes = "?target_session_attrs=read-write" if len(databases) > 1 else ""
            found["DATABASE_URL"] = (
                f"postgresql://{POSTGRES_USER}:{PASSWORD}@{hosts}/{DATABASE}{attributes}"
            )
        if redis:
            url = f"redis://default:{PASSWORD}@{HOST}:{redis}/0"
            found |= {"QUEUE_URL": url, "RATE_LIMIT_URL": url}
        return {f"GATEWAY_{name}": url for name, url in found.items()}


@contextmanager
def engines(
    backend: str, *, synchronous: bool = True, disk_size: int = DISK_SIZE
) -> Iterator[Engines]:
    """Servers, if the backend needs any, while the block runs. The standby may be asynchronous."""
    found = Engines()
    with ExitStack() as stack:
        if backend != SQLITE:
            settings = {"track_commit_timestamp": "on"} | SMALL_LOG
            pair = Pair(synchronous=synchronous, durable=True, settings=settings)
            for member in pair.members if may_mount() else ():
                stack.enter_context(_on_a_small_disk(member, disk_size))
            found.pair = stack.enter_context(pair)
            pair.database(DATABASE)
            if backend == PGBOUNCER:
                pooler = PgBouncer(pair.primary, default_pool_size=POOL_SIZE)
                found.pooler = stack.enter_context(pooler)
        if backend == REDIS:
            found.redis = stack.enter_context(RedisServer())
        found.relay()
        stack.callback(found.close)
        yield found


@contextmanager
def _on_a_small_disk(member: Member, size: int) -> Iterator[None]:
    try:
        with small_disk(member.folder, size):
            yield
    finally:
        shutil.rmtree(member.folder)
