"""Kills parts of the service and its servers at random while it works, and deletes its queue."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping

from contract_tests.chaos.engines import Outage
from contract_tests.chaos.senders import CLIENTS, Progress
from contract_tests.halting import halt
from contract_tests.harness import START_SECONDS, Gateway, wait_for
from contract_tests.processes import children_of, is_alive

PARTS = ("web", "worker", "sandbox")
# "up" dies alone, and its parts end as if by SIGTERM; with "everything" they die at the same moment.
VICTIMS = (*PARTS, "up", "everything")
QUEUE_DELETIONS = 2
# So many messages are kept for each kill, and for each return: none comes when there is nothing left to do.
AWAY, BACK = 2 * CLIENTS, CLIENTS
OUTAGE_SECONDS = (0.2, 0.8)


class Monkey:
    """Breaks one service, at moments that a seed decides."""

    def __init__(
        self,
        gateway: Gateway,
        outages: Mapping[str, Outage],
        progress: Progress,
        seed: int,
        kills: int,
    ) -> None:
        self._gateway = gateway
        self._outages = outages
        self._progress = progress
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._planned = kills
        self.victims = (*outages, *VICTIMS)
        self.kills: Counter[str] = Counter()
        self.queue_deletions = 0
        # For each kill: how many messages and deliveries were under way.
        self.work: list[tuple[int, int]] = []
        # For each outage: seconds from the server's return to the next message that is answered.
        self.recoveries: list[float] = []

    def rage(self) -> None:
        """Spread the kills and deletions over all the messages."""
        plan = self._plan()
        deletions = {
            (i + 1) * self._planned // (QUEUE_DELETIONS + 1) for i in range(QUEUE_DELETIONS)
        }
        calm = self._progress.total // self._planned - AWAY - BACK
        for number, victim in enumerate(plan):
            moment = self._progress.started + self._random.randint(1, calm)
            self._progress.allow_more(calm)
            assert self._progress.reach(moment), "the clients came to a halt"
            if number in deletions:
                self.delete_queue()
            self.kill(victim)
        self._progress.allow_more(self._progress.total)

    def _plan(self) -> list[str]:
        """Every victim about equally often, in any order; a storm too small for all has every outage."""
        plan: list[str] = []
        while len(plan) < self._planned:
            plan += self._random.sample(list(self._outages), len(self._outages))
            plan += self._random.sample(VICTIMS, len(VICTIMS))
        return self._random.sample(plan[: self._planned], self._planned)

    def kill(self, victim: str) -> None:
        """SIGKILL, or the end of a server; what nobody else starts again is started again."""
        if victim in self._outages:
            self._interrupt(self._outages[victim])
        else:
            self._wait_for_work()
            if victim in PARTS:
                self._kill_part(victim)
            else:
                self._kill_up(alone=victim == "up")
        self.kills[victim] += 1

    def _interrupt(self, outage: Outage) -> None:
        """End a server, and start it again when the clients have seen that it was away."""
        wait_for(self._gateway.is_ready, "a ready service", START_SECONDS)
        self._wait_for_work()
        answered, repeats = self._progress.answered, self._progress.repeats
        outage.begin()
        # It is away for some time, and this is how long.
        time.sleep(self._random.uniform(*OUTAGE_SECONDS))
        if outage.is_felt:
            assert self._progress.reach_repeats(repeats + CLIENTS), "nobody felt it"
        else:
            assert self._progress.reach_answers(answered + CLIENTS), "nothing was sent meanwhile"
        outage.server.start()
        self._note_recovery()

    def _note_recovery(self) -> None:
        began, answered = time.monotonic(), self._progress.answered
        self._progress.allow_more(BACK)
        assert self._progress.reach_answers(answered + 1), "the service did not come back"
        self.recoveries.append(time.monotonic() - began)

    def _wait_for_work(self) -> None:
        self._progress.allow_more(AWAY)
        self.work.append(wait_for(self._work_under_way, "work under way", START_SECONDS))

    def _work_under_way(self) -> tuple[int, int] | None:
        deliveries = self._gateway.stored.count("delivery", "state = 'pending'")
        messages = self._progress.under_way
        return (messages, deliveries) if messages and deliveries else None

    def _kill_part(self, name: str) -> None:
        # A part that dies by itself in this very moment is dead as well.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._gateway.part(name), signal.SIGKILL)

    def _kill_up(self, *, alone: bool) -> None:
        up = self._gateway.process
        assert up is not None
        # Halted, it starts no part between the look at its parts and their end.
        halt(up.pid)
        parts = children_of(up.pid)
        for pid in (up.pid, *([] if alone else parts)):
            os.kill(pid, signal.SIGKILL)
        up.wait()
        # A closed port proves nothing: a part that has just been started opens it later.
        wait_for(lambda: not any(map(is_alive, parts)), "the end of its parts", 30)
        self._gateway.start()

    def delete_queue(self) -> None:
        """Delete the queue under the running processes."""
        self._gateway.stored.lose_queue()
        self.queue_deletions += 1
