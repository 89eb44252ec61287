"""The faults of a storm. ``with fault.happening(): ...`` breaks something and repairs it at the end."""

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product

import psycopg

from contract_tests.backends import PGBOUNCER, POSTGRESQL, REDIS
from contract_tests.chaos import clocks
from contract_tests.chaos.clocks import Clocks
from contract_tests.chaos.engines import Engines
from contract_tests.chaos.failovers import of_database
from contract_tests.chaos.fault import SHORT, Fault, Happening
from contract_tests.failover.pair import Pair
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

# The small errors of a clock, in seconds.
DRIFT_SECONDS = 60
# The jumps of a clock: beyond the day of an Idempotency-Key, beyond the retention of messages, and back.
HOUR_SECONDS = 3_600
JUMPS = {
    "25 h ahead": 25 * HOUR_SECONDS,
    "31 d ahead": 31 * 24 * HOUR_SECONDS,
    "1 h back": -HOUR_SECONDS,
}
JUMP = (10, 10)
# Longer than every deadline of the service.
FOR_EVER = (45, 50)


@dataclass(frozen=True)
class World:
    """What can break, and the storm's random number generator."""

    gateway: Gateway
    below: Engines
    lines: Mapping[str, Relay]
    clocks: Clocks
    dice: random.Random

    def faults(self, *, long: bool) -> list[Fault]:
        """All faults of this backend. ``long``: also those that outlast the deadlines of the service."""
        found = [*self._kills(), *self._freezes(), *self._silences(for_ever=False)]
        found += [self._full_disk(), self._lost_queue(), *self._drifts()]
        if long:
            found += [*self._silences(for_ever=True), *self._jumps(), *of_database(self.below)]
        return found + outages(self.below)

    def _lost_queue(self) -> Fault:
        lose_queue = partial(_lost, self.gateway.stored.lose_queue)
        return Fault("loss", "queue deleted", lose_queue, is_felt=False, seconds=SHORT)

    def _kills(self) -> Iterator[Fault]:
        for part in PARTS:
            felt = False if part == "worker" else None
            kill = partial(_killed, self.gateway, part)
            yield Fault("kill", f"{part} killed", kill, felt, SHORT)
        # "up" dies alone and its parts end as if by SIGTERM. With "everything" all die at once.
        for name, alone in (("up", True), ("everything", False)):
            kill = partial(_killed_up, self.gateway, alone=alone)
            yield Fault("kill", f"{name} killed", kill, seconds=SHORT)

    def _freezes(self) -> Iterator[Fault]:
        # A frozen worker may hold the lock of a SQLite file until it continues.
        felt = {"web": True, "worker": False if self.below.pair else None, "sandbox": None}
        for part in PARTS:
            yield Fault("freeze", f"{part} frozen", self._freeze(part), felt[part])
        if self.below.pair:
            yield Fault("freeze", "postgresql backend frozen", self._freeze_backend)
        if redis := self.below.redis:
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

    def _silences(self, *, for_ever: bool) -> Iterator[Fault]:
        felt = {POSTGRESQL: True, PGBOUNCER: True, REDIS: False, "network": None, "receiver": False}
        for name in [*self.below.lines, *self.lines]:
            silence = partial(self._silent, name)
            if for_ever:
                yield Fault(
                    "silence",
                    f"{name} silent for ever",
                    silence,
                    felt[name],
                    FOR_EVER,
                    is_slow=True,
                )
            else:
                yield Fault("silence", f"{name} silent", silence, felt[name])

    def _silent(self, name: str) -> AbstractContextManager[None]:
        return silent({**self.lines, **self.below.lines}[name], self.dice)

    def _drifts(self) -> Iterator[Fault]:
        # On one machine all parts have one clock.
        for part in clocks.PARTS if self.below.pair else ():
            yield Fault(
                "clock", f"clock of {part} wrong", partial(self._drift, part), is_felt=False
            )

    def _drift(self, part: str) -> AbstractContextManager[None]:
        return self.clocks.jumped(part, self.dice.choice((-DRIFT_SECONDS, DRIFT_SECONDS)))

    def _jumps(self) -> Iterator[Fault]:
        for part, (name, seconds) in product(clocks.PARTS, JUMPS.items()):
            jump = partial(self.clocks.jumped, part, seconds)
            yield Fault("clock", f"clock of {part} {name}", jump, is_felt=False, seconds=JUMP)

    def _full_disk(self) -> Fault:
        if self.below.pair:
            return Fault("disk", "disk full", partial(_full_server, self.below.pair))
        way = fill_up if may_mount() else forbid_writing
        return Fault("disk", "disk full", partial(_full, partial(way, self.gateway)), is_felt=True)


@contextmanager
def silent(line: Relay, dice: random.Random) -> Iterator[None]:
    """Data of this period arrives late or never."""
    line.hold()
    try:
        yield
    finally:
        dice.choice((line.release, line.restore))()


def outages(below: Engines) -> list[Fault]:
    """The ways in which a server ends until it is started again."""
    found = []
    for name in below.servers:
        ways: dict[str, Callable[[Server], None]] = {"killed": lambda server: server.kill()}
        if not below.pooler:
            ways["stopped"] = lambda server: server.stop()
            if name == POSTGRESQL:
                ways["stopped at once"] = _stop_at_once
        for way, end in ways.items():
            away = partial(_away, below, name, end)
            felt = name != REDIS
            found.append(Fault("outage", f"{name} {way}", away, is_felt=felt, seconds=SHORT))
    return found


def _stop_at_once(server: Server) -> None:
    """Without a checkpoint or a message to its clients: the next start recovers."""
    assert server.process is not None
    server.process.send_signal(signal.SIGQUIT)
    server.stop()


@contextmanager
def _away(below: Engines, name: str, end: Callable[[Server], None]) -> Iterator[None]:
    # After a failover the name belongs to the other server.
    server = below.servers[name]
    end(server)
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
def _full(fill_disk: Callable[[], Free]) -> Iterator[None]:
    free = fill_disk()
    try:
        yield
    finally:
        free()


@contextmanager
def _full_server(pair: Pair) -> Iterator[None]:
    """Start a server that ended because its disk was full. A server that did not end must continue."""
    server = pair.primary

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
