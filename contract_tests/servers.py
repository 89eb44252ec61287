"""Real PostgreSQL, PgBouncer and Redis servers on loopback: ``with PostgresServer() as server``."""

import os
import select
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql

from contract_tests.commands import ROOT
from contract_tests.processes import children_of
from contract_tests.server_process import HOST, Server
from contract_tests.waiting import START_SECONDS, wait_for

# PostgreSQL and PgBouncer refuse to run as root. Debian's packages create this user.
POSTGRES_USER = "postgres"


# The folder of the programs of another version, which `make matrix` sets.
PROGRAMS = os.environ.get("TEST_POSTGRESQL_PROGRAMS")


class PostgresServer(Server):
    """PostgreSQL, in the newest version on this machine.

    Commits survive ``kill()``. Only a ``durable`` server waits for the disk, as in production.
    ``settings`` are those of postgresql.conf and override the ones here.
    """

    def __init__(self, *, durable: bool = False, **settings: str) -> None:
        super().__init__("postgres")
        self._durable = durable
        self._settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "max_connections": "500",
            **({} if durable else {"fsync": "off", "full_page_writes": "off"}),
            **settings,
        }

    @property
    def data(self) -> Path:
        """The folder of the databases."""
        return self.folder / "data"

    def start(self) -> Self:
        """As for every server. The first start creates an empty cluster."""
        if not self.data.exists():
            self._initialize()
        return super().start()

    def kill(self) -> None:
        """SIGKILL every process of the server."""
        assert self.process is not None
        segment = self._status()[6].split()[1]
        processes = children_of(self.process.pid)
        super().kill()  # First the process that would restart the others.
        for pid in processes:
            _kill_and_wait(pid)
        # A clean end removes it.
        subprocess.run(["ipcrm", "-m", segment], check=True)

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql://{POSTGRES_USER}@{HOST}:{self.port}/{name}"

    def database(self, name: str, template: str = "template0") -> str:
        """Create a database as a copy of ``template``, which must have no connections. Returns its URL."""
        statement = "CREATE DATABASE {} TEMPLATE {}"
        if template == "template0":
            statement += " ENCODING 'UTF8' LOCALE 'C'"
        names = map(sql.Identifier, (name, template))
        # The role may be read-only: wrong_settings.py.
        options = "-c default_transaction_read_only=off"
        with psycopg.connect(self.url("postgres"), autocommit=True, options=options) as connection:
            connection.execute(sql.SQL(statement).format(*names))
        return self.url(name)

    def _initialize(self) -> None:
        chown_to_postgres(self.folder)
        options = ["--auth=trust", f"--username={POSTGRES_USER}", "--encoding=UTF8", "--locale=C"]
        done = subprocess.run(
            [program("initdb"), "--no-sync", *options, self.data],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **self._account(),
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _command(self) -> Sequence[str | Path]:
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        return [program("postgres"), "-D", self.data, *settings]

    def _account(self) -> Mapping[str, Any]:
        return without_root()

    def _answers(self) -> bool:
        assert self.process is not None
        status = self._status()
        return status[:1] == [str(self.process.pid)] and status[7:] == ["ready"]

    def _status(self) -> list[str]:
        """The lines of postmaster.pid, stripped: process, ..., shared memory, state."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [line.strip() for line in lines]


def end_sessions(connection: psycopg.Connection[Any], pids: Sequence[int]) -> None:
    """End other sessions, and wait for their end. PostgreSQL 13 itself cannot wait."""
    connection.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [pids])
    left = "SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s)"
    wait_for(lambda: not connection.execute(left, [pids]).fetchall(), "the end of the sessions")


class PgBouncer(Server):
    """PgBouncer in front of a PostgreSQL, configured by deploy/pgbouncer.ini. ``settings`` override it."""

    # At SIGINT it waits until no client is in a transaction.
    stopped_by = signal.SIGTERM

    def __init__(self, postgres: PostgresServer, **settings: str) -> None:
        super().__init__("pgbouncer")
        self._config = ConfigParser()
        self._config.read(ROOT / "deploy" / "pgbouncer.ini")
        ours = {"listen_port": str(self.port), "auth_type": "any", "unix_socket_dir": ""}
        self._config["pgbouncer"].update(ours | settings)
        self._point_at(postgres.port)
        chown_to_postgres(self.folder)

    def switch_to(self, port: int) -> None:
        """Send clients to the PostgreSQL at another port, as an operator does after a failover."""
        self._point_at(port)
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    def _point_at(self, port: int) -> None:
        # For every user that a client names.
        self._config["databases"] = {"*": f"host={HOST} port={port} user={POSTGRES_USER}"}
        with (self.folder / "pgbouncer.ini").open("w") as file:
            self._config.write(file)

    def url(self, name: str) -> str:
        """The URL of a database behind it."""
        return f"postgresql://{POSTGRES_USER}@{HOST}:{self.port}/{name}"

    def _command(self) -> Sequence[str | Path]:
        return [program("pgbouncer"), self.folder / "pgbouncer.ini"]

    def _account(self) -> Mapping[str, Any]:
        return without_root()

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0


class RedisServer(Server):
    """Redis with numbered databases. A ``durable`` one keeps its data over ``kill()``.

    ``settings`` are those of redis.conf, with "_" for "-".
    """

    databases = 1000

    def __init__(self, *, durable: bool = False, **settings: str) -> None:
        super().__init__("redis")
        self._durable = durable
        self._settings = {name.replace("_", "-"): value for name, value in settings.items()}

    def url(self, number: int) -> str:
        """The URL of a database. There are ``databases`` of them."""
        return f"redis://{HOST}:{self.port}/{number}"

    def _command(self) -> Sequence[str | Path]:
        options = {
            "bind": HOST,
            "port": str(self.port),
            "databases": str(self.databases),
            "save": "",
            "appendonly": "yes" if self._durable else "no",
            "dir": str(self.folder),
        }
        given = options | self._settings
        flags = [part for name, value in given.items() for part in (f"--{name}", value)]
        return [program("redis-server"), *flags]

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), START_SECONDS) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False


class RedisSentinel(RedisServer):
    """A Sentinel that promotes a replica of ``primary`` half a second after that one became unreachable."""

    # The name that it gives the primary.
    name = "main"

    def __init__(self, primary: RedisServer) -> None:
        super().__init__()
        lines = [
            f"bind {HOST}",
            f"port {self.port}",
            f"sentinel monitor {self.name} {HOST} {primary.port} 1",
            f"sentinel down-after-milliseconds {self.name} 500",
            f"sentinel failover-timeout {self.name} 3000",
        ]
        (self.folder / "sentinel.conf").write_text("\n".join(lines))

    def url(self, number: int) -> str:
        """The URL of a database of the primary."""
        return f"redis+sentinel://{HOST}:{self.port}/{self.name}/{number}"

    def _command(self) -> Sequence[str | Path]:
        return [program("redis-server"), self.folder / "sentinel.conf", "--sentinel"]


def chown_to_postgres(folder: Path) -> None:
    """Give a folder to the user who runs the servers."""
    if os.geteuid() == 0:
        shutil.chown(folder, POSTGRES_USER, POSTGRES_USER)


def without_root() -> Mapping[str, Any]:
    """Arguments for subprocess: the user of PostgreSQL, which refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": POSTGRES_USER, "group": POSTGRES_USER, "extra_groups": []}


def program(name: str) -> str:
    """A program of PROGRAMS, of the newest PostgreSQL from Debian's packages, or one on the PATH."""
    if PROGRAMS and (chosen := Path(PROGRAMS) / name).exists():
        return str(chosen)
    found = list(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if found:
        return str(max(found, key=lambda path: int(path.parts[-3])))
    if on_path := shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin"):
        return on_path
    raise FileNotFoundError(f"{name} is missing: make servers")


def _kill_and_wait(pid: int) -> None:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:  # The process noticed that its parent had ended, and ended.
        return
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(watched, signal.SIGKILL)
        select.select([watched], [], [], START_SECONDS)
    finally:
        os.close(watched)
