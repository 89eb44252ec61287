"""Kills parts of the service at random while it works, and deletes its queue."""

import contextlib
import os
import random
import signal
import socket
from collections import Counter
from pathlib import Path

from contract_tests.chaos.senders import Progress
from contract_tests.harness import Gateway, wait_for

PARTS = ("web", "worker", "sandbox")
# "up" dies alone, and its parts end as if by SIGTERM; with "everything" they die at the same moment.
VICTIMS = (*PARTS, "up", "everything")
QUEUE_DELETIONS = 2


class Monkey:
    """Breaks one service, at moments that a seed decides."""

    def __init__(self, gateway: Gateway, seed: int, kills: int) -> None:
        self._gateway = gateway
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._planned = kills
        self.kills: Counter[str] = Counter()
        self.queue_deletions = 0

    def rage(self, progress: Progress) -> None:
        """Spread the kills and deletions over all the messages."""
        plan = self._plan()
        deletions = {
            (i + 1) * self._planned // (QUEUE_DELETIONS + 1) for i in range(QUEUE_DELETIONS)
        }
        for number, victim in enumerate(plan):
            first, end = (n * progress.total // self._planned for n in (number, number + 1))
            progress.allow(end)
            moment = self._random.randint(first, end - 1) + 1 if end > first else end
            assert progress.reach(moment), "the clients came to a halt"
            if number in deletions:
                self.delete_queue()
            self.kill(victim)
        progress.allow(progress.total)

    def _plan(self) -> list[str]:
        """Every victim about equally often, in any order."""
        plan: list[str] = []
        while len(plan) < self._planned:
            plan += self._random.sample(VICTIMS, len(VICTIMS))
        return plan[: self._planned]

    def kill(self, victim: str) -> None:
        """SIGKILL; what nobody else starts again is started again."""
        if victim in PARTS:
            self._gateway.kill(victim)
        else:
            self._kill_up([self._gateway.part(p) for p in PARTS] if victim == "everything" else [])
        self.kills[victim] += 1

    def _kill_up(self, parts: list[int]) -> None:
        up = self._gateway.process
        assert up is not None
        for pid in (up.pid, *parts):
            # A part that dies by itself in this very moment is dead as well.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        up.wait()
        wait_for(self._is_down, "the end of web and sandbox", 30)
        self._gateway.start()

    def _is_down(self) -> bool:
        ports = (self._gateway.port, self._gateway.sandbox_port)
        return not any(_is_open(port) for port in ports)

    def delete_queue(self) -> None:
        """Delete the queue's files under the running processes."""
        folder = Path(self._gateway.environment["GATEWAY_DATA_DIR"])
        assert (folder / "queue.db").exists()
        for name in ("queue.db", "queue.db-wal", "queue.db-shm"):
            (folder / name).unlink(missing_ok=True)
        self.queue_deletions += 1


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
