"""The faults of a storm. ``with fault.happening(): ...`` breaks something and repairs it at the end."""

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

import psycopg

from contract_tests.backends import PGBOUNCER, POSTGRESQL, REDIS
from contract_tests.chaos import clocks
from contract_tests.chaos.clocks import Clocks
from contract_tests.chaos.engines import Engines
from contract_tests.full_disk import (
    PARTS,
    Free,
    fill,
    fill_up,
    forbid_writing,
    limit_files,
    may_mount,
)
from contract_tests.halting import halt, halted
from contract_tests.harness import START_SECONDS, Gateway, wait_for
from contract_tests.processes import children_of, is_alive
from contract_tests.relay import Relay
from contract_tests.server_process import Server
from contract_tests.servers import PostgresServer

# The errors of a clock, in seconds.
JUMP_SECONDS = 60
# The shortest and longest duration of a short fault, in seconds. The service might wait for longer ones.
SHORT = (0.2, 0.8)

Happening = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """One fault. ``is_felt`` means that all sends fail until it is over. None: this depends on the moment."""

    family: str
    name: str
    happening: Happening
    is_felt: bool | None = None
    lasts: bool = True


@dataclass(frozen=True)
class World:
    """What can break, and the storm's random number generator."""

    gateway: Gateway
    below: Engines
    lines: dict[str, Relay]
    clocks: Clocks
    dice: random.Random

    def faults(self) -> list[Fault]:
        """All faults of this backend."""
        found = [*self._kills(), *self._freezes(), *self._silences(), self._full_disk()]
        lose_queue = partial(_lost, self.gateway.stored.lose_queue)
        found.append(Fault("loss", "queue deleted", lose_queue, is_felt=False, lasts=False))
        if self._postgres:
            # On one machine all parts have one clock.
            found += [self._jump(part) for part in clocks.PARTS]
        return found + outages(self.below)

    @property
    def _postgres(self) -> PostgresServer | None:
        server = self.below.servers.get(POSTGRESQL)
        return server if isinstance(server, PostgresServer) else None

    def _kills(self) -> Iterator[Fault]:
        for part in PARTS:
            felt = False if part == "worker" else None
            kill = partial(_killed, self.gateway, part)
            yield Fault("kill", f"{part} killed", kill, felt, lasts=False)
        # "up" dies alone and its parts end as if by SIGTERM. With "everything" all die at once.
        for name, alone in (("up", True), ("everything", False)):
            kill = partial(_killed_up, self.gateway, alone=alone)
            yield Fault("kill", f"{name} killed", kill, lasts=False)

    def _freezes(self) -> Iterator[Fault]:
        # A frozen worker may hold the lock of a SQLite file until it continues.
        felt = {"web": True, "worker": False if self._postgres else None, "sandbox": None}
        for part in PARTS:
            yield Fault("freeze", f"{part} frozen", self._freeze(part), felt[part])
        if self._postgres:
            yield Fault("freeze", "postgresql backend frozen", self._freeze_backend)
        if redis := self.below.servers.get(REDIS):
            yield Fault("freeze", "redis frozen", partial(_halted, redis), is_felt=False)

    def _freeze(self, part: str) -> Happening:
        return lambda: halted(self.gateway.part(part))

    def _freeze_backend(self) -> AbstractContextManager[None]:
        """One process of PostgreSQL, preferably one in a transaction."""
        found = self.gateway.stored.rows(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid() "
            "ORDER BY xact_start IS NULL, random() LIMIT 1"
        )
        return halted(found[0][0])

    def _silences(self) -> Iterator[Fault]:
        felt = {POSTGRESQL: True, PGBOUNCER: True, REDIS: False, "network": None, "receiver": False}
        for name, line in self.lines.items():
            silence = partial(_silent, line, self.dice)
            yield Fault("silence", f"{name} silent", silence, felt[name])

    def _jump(self, part: str) -> Fault:
        def jumped() -> AbstractContextManager[None]:
            return self.clocks.jumped(part, self.dice.choice((-JUMP_SECONDS, JUMP_SECONDS)))

        return Fault("clock", f"clock of {part} wrong", jumped, is_felt=False)

    def _full_disk(self) -> Fault:
        if self._postgres:
            return Fault("disk", "disk full", partial(_full_server, self._postgres))
        way = fill_up if may_mount() else forbid_writing
        return Fault("disk", "disk full", partial(_full, partial(way, self.gateway)), is_felt=True)


def outages(below: Engines) -> list[Fault]:
    """The ways in which a server ends until it is started again."""
    found = []
    for name, server in below.servers.items():
        ways = {"killed": server.kill}
        if PGBOUNCER not in below.servers:
            ways["stopped"] = server.stop
            if name == POSTGRESQL:
                ways["stopped at once"] = partial(_stop_at_once, server)
        found += [
            Fault(
                "outage",
                f"{name} {way}",
                partial(_away, server, end),
                is_felt=name != REDIS,
                lasts=False,
            )
            for way, end in ways.items()
        ]
    return found


def _stop_at_once(server: Server) -> None:
    """Without a checkpoint or a message to its clients: the next start recovers."""
    assert server.process is not None
    server.process.send_signal(signal.SIGQUIT)
    server.stop()


@contextmanager
def _away(server: Server, end: Callable[[], None]) -> Iterator[None]:
    end()
    try:
        yield
    finally:
        server.start()


@contextmanager
def _lost(lose: Callable[[], None]) -> Iterator[None]:
    lose()
    yield


@contextmanager
def _killed(gateway: Gateway, part: str) -> Iterator[None]:
    # A part that ends by itself at this moment is dead too.
    with contextlib.suppress(ProcessLookupError):
        gateway.kill(part)
    yield


@contextmanager
def _killed_up(gateway: Gateway, *, alone: bool) -> Iterator[None]:
    up = gateway.process
    assert up is not None
    # While halted, up starts no part between the query for its parts and their end.
    halt(up.pid)
    parts = children_of(up.pid)
    for pid in (up.pid, *([] if alone else parts)):
        os.kill(pid, signal.SIGKILL)
    up.wait()
    # A closed port proves nothing: a part that was just started opens it later.
    wait_for(lambda: not any(map(is_alive, parts)), "the end of its parts", 30)
    try:
        yield
    finally:
        gateway.start()


def _halted(server: Server) -> AbstractContextManager[None]:
    assert server.process is not None
    return halted(server.process.pid)


@contextmanager
def _silent(line: Relay, dice: random.Random) -> Iterator[None]:
    """Data of this period arrives late or never."""
    line.hold()
    try:
        yield
    finally:
        dice.choice((line.release, line.restore))()


@contextmanager
def _full(fill_disk: Callable[[], Free]) -> Iterator[None]:
    free = fill_disk()
    try:
        yield
    finally:
        free()


@contextmanager
def _full_server(server: PostgresServer) -> Iterator[None]:
    """Start a server that ended because its disk was full. A server that did not end must continue."""

    def processes() -> list[int]:
        process = server.process
        return [process.pid, *children_of(process.pid)] if process and not process.poll() else []

    def is_settled() -> bool:
        assert server.process is not None
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(server.url("postgres")).close()
            return True
        return server.process.poll() is not None

    way = partial(fill, server.folder) if may_mount() else partial(limit_files, processes)
    try:
        with _full(way):
            yield
    finally:
        wait_for(is_settled, "a server that answers or has ended", START_SECONDS)
        assert server.process is not None
        if server.process.poll() is not None:
            server.start()
