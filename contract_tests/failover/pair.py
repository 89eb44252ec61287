"""A PostgreSQL primary and a standby that streams from it. Either can be promoted, and the other rebuilt.

The roles are those of a manager such as Patroni, which does the same by itself.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import MappingProxyType
from typing import Any, Self

import psycopg
from psycopg import sql

from contract_tests.halting import halt_all
from contract_tests.relay import HOST, Relay
from contract_tests.servers import (
    POSTGRES_USER,
    PostgresServer,
    chown_to_postgres,
    program,
    without_root,
)
from contract_tests.waiting import START_SECONDS, wait_for

SLOT = "standby"
# A standby that lost its primary connects again at once instead of after 5 s. A primary keeps the log of a
# standby that is away only up to a limit, because the disks of a storm are small.
REPLICATION = {
    "wal_retrieve_retry_interval": "100ms",
    "max_slot_wal_keep_size": "96MB",
    "wal_receiver_status_interval": "1s",
}


class Member(PostgresServer):
    """One of the two servers: a primary when it is started first, a standby after ``follow()``."""

    def follow(self, port: int) -> None:
        """Become a standby of the server at this port, with a new copy of its data."""
        self.kill_if_running()
        shutil.rmtree(self.data, ignore_errors=True)
        chown_to_postgres(self.folder)
        place = f"host={HOST} port={port} user={POSTGRES_USER} application_name={SLOT}"
        options = ["--checkpoint=fast", "--no-sync", "--write-recovery-conf", "--create-slot"]
        done = subprocess.run(
            [
                program("pg_basebackup"),
                f"--dbname={place}",
                f"--pgdata={self.data}",
                f"--slot={SLOT}",
                *options,
            ],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **without_root(),
        )
        assert done.returncode == 0, done.stderr
        # A copied setting would let it wait for its own standby when it is the primary.
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write("synchronous_standby_names = ''\n")
        self.start()

    def kill_if_running(self) -> None:
        """SIGKILL every process, also halted ones."""
        if self.process is not None:
            self.kill()

    def freeze(self) -> None:
        """Halt every process: the port still accepts connections, and nobody answers. ``kill()`` ends it."""
        assert self.process is not None
        halt_all(self.process.pid)

    def promote(self) -> None:
        """Become the primary. Returns when it accepts writes."""
        assert self.value("SELECT pg_promote(true, 60)")

    def change(self, **settings: str) -> None:
        """Change settings of the running server. An empty text resets one."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            for name, value in settings.items():
                change = "SET {} = {}" if value else "RESET {}"
                words = sql.SQL(f"ALTER SYSTEM {change}")
                parts = [sql.Identifier(name), *([sql.Literal(value)] if value else [])]
                connection.execute(words.format(*parts))
            connection.execute("SELECT pg_reload_conf()")

    def value(self, query: str) -> Any:
        """The only value of a query in the database ``postgres``."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]

    def _answers(self) -> bool:
        status = self._status()
        assert self.process is not None
        return status[:1] == [str(self.process.pid)] and status[7:] in (["ready"], ["standby"])


class Pair:
    """Two members, and the relays for the log between them.

    ``synchronous``: a commit waits until the standby has it on disk.
    """

    def __init__(
        self,
        *,
        synchronous: bool = True,
        durable: bool = False,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        ours = {**REPLICATION, **settings}
        self.primary, self.standby = (Member(durable=durable, **ours) for _ in range(2))
        self.members = (self.primary, self.standby)
        self._synchronous = synchronous
        self._links: Mapping[Member, Relay] = {}

    def start(self) -> Self:
        """Start the primary, and the standby as its copy."""
        self.primary.start()
        self._links = {member: Relay(member.port) for member in self.members}
        self.rebuild()
        return self

    def rebuild(self) -> None:
        """Make the standby a new copy of the primary. Returns when it has all of the log."""
        self.link.restore()
        self.primary.change(synchronous_standby_names="")
        self.standby.kill_if_running()
        with suppress(psycopg.errors.UndefinedObject):
            wait_for(self._is_slot_free, "a slot without a reader", START_SECONDS)
            self.primary.value(f"SELECT pg_drop_replication_slot('{SLOT}')")
        self.standby.follow(self.link.port)
        wait_for(self.is_even, "a standby that has the whole log", START_SECONDS)
        if self._synchronous:
            self.primary.change(synchronous_standby_names="*")

    @property
    def link(self) -> Relay:
        """The relay through which the standby reads the log of the primary."""
        return self._links[self.primary]

    def is_even(self) -> bool:
        """Whether the standby has replayed all that the primary wrote before this call."""
        query = (
            "SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) "
            "FROM pg_stat_replication WHERE state = 'streaming'"
        )
        return bool(self.primary.value(query))

    def ensure_standby(self) -> None:
        """Rebuild the standby if it does not read the log any more."""
        query = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        try:
            wait_for(lambda: self.primary.value(query), "a standby that reads the log", 5)
        except AssertionError:
            self.rebuild()

    @contextmanager
    def lagging(self) -> Iterator[None]:
        """The standby receives no log while the block runs."""
        self.link.hold()
        try:
            yield
        finally:
            self.link.release()

    def promote(self) -> None:
        """Promote the standby: the roles change. It does not matter in which state the old primary is."""
        self.link.cut()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def database(self, name: str) -> str:
        """Create a database, and return its URL with both hosts."""
        self.primary.database(name)
        return self.url(name)

    def url(self, name: str) -> str:
        """The URL of a database, for the one of the two that accepts writes."""
        hosts = ",".join(f"{HOST}:{member.port}" for member in self.members)
        return f"postgresql://{POSTGRES_USER}@{hosts}/{name}?target_session_attrs=read-write"

    def _is_slot_free(self) -> bool:
        query = "SELECT count(*) FROM pg_replication_slots WHERE active"
        return not self.primary.value(query)

    def close(self) -> None:
        """Stop both, and remove their data."""
        for link in self._links.values():
            link.cut()
        for member in self.members:
            member.kill_if_running()
            member.close()

    def __enter__(self) -> Self:
        """Start both."""
        with ExitStack() as stack:
            stack.callback(self.close)
            self.start()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove both."""
        self.close()
