"""The faults of a broadcast: its workers and web, its database, and the network that it sends to."""

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from contract_tests.chaos.crew import WEB, WORKERS, Crew
from contract_tests.chaos.engines import Engines
from contract_tests.chaos.fault import SHORT, Fault
from contract_tests.chaos.faults import FOR_EVER, silent
from contract_tests.chaos.liar import CUTS, WRONG, Liar, Spoil
from contract_tests.halting import all_halted, halted
from contract_tests.parts import Parts
from contract_tests.relay import behaving

# How long the gateway waits for a response of the network, in seconds, and when a late one comes.
NETWORK_TIMEOUT, LATE_MS = 2, 5_000
# In seconds: beyond the lease of the recipients that a worker claims, beyond the wait for SQLite's lock, and
# around the time-out of the network.
BEYOND_LEASE, BEYOND_WAIT, SOME = (31, 35), (11, 14), (2, 8)
# At worst every send is spoiled, otherwise a share.
EVERY = (1, 3, 10)


@dataclass(frozen=True)
class BroadcastWorld:
    """What can break, and the storm's random number generator."""

    parts: Parts
    crew: Crew
    below: Engines
    network: Liar
    dice: random.Random

    def faults(self, *, long: bool) -> list[Fault]:
        """All faults of this backend. ``long``: also those that outlast the deadlines of the service."""
        found = [*self._of_processes(), self._of_database(), *self._of_network()]
        for name, line in self.below.lines.items():
            silence = partial(silent, line, self.dice)
            found.append(Fault("silence", f"{name} silent", silence, seconds=SOME))
            if long:
                found.append(Fault("silence", f"{name} silent for ever", silence, seconds=FOR_EVER))
        return found

    def _of_processes(self) -> Iterator[Fault]:
        for name in (*WORKERS, WEB):
            yield Fault("kill", f"{name} killed", partial(self.crew.killed, name), seconds=SHORT)
        for name in WORKERS:
            freeze = partial(self._frozen, name)
            yield Fault("freeze", f"{name} frozen", freeze, seconds=BEYOND_LEASE)

    def _frozen(self, name: str) -> AbstractContextManager[None]:
        return halted(self.crew[name].pid)

    def _of_database(self) -> Fault:
        if self.below.pair is None:
            locked = self.parts.stored.locked
            return Fault("database", "database locked", locked, seconds=BEYOND_WAIT)
        return Fault("database", "postgresql frozen", self._server_frozen, seconds=BEYOND_WAIT)

    def _server_frozen(self) -> AbstractContextManager[None]:
        assert self.below.pair is not None
        server = self.below.pair.primary.process
        assert server is not None
        return all_halted(server.pid)

    def _of_network(self) -> Iterator[Fault]:
        yield Fault("late", "network late", self._late, seconds=SOME)
        silence = partial(silent, self.network, self.dice)
        yield Fault("cut", "network silent", silence, seconds=SOME)
        for family, ways in {"cut": CUTS, "wrong": WRONG}.items():
            for how in ways:
                yield Fault(family, how.name, partial(self._spoiled, how), seconds=SOME)

    def _late(self) -> AbstractContextManager[None]:
        return behaving(self.parts, slow_rate=1 / self.dice.choice(EVERY), slow_ms=LATE_MS)

    def _spoiled(self, how: Spoil) -> AbstractContextManager[None]:
        return self.network.spoiling(how, self.dice.choice(EVERY))
