"""Triggers one random fault after the other while the service works."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

from contract_tests.chaos.fault import Fault, planned
from contract_tests.chaos.senders import CLIENTS, Progress
from contract_tests.chaos.windows import RECOVERY_SECONDS, Windows
from contract_tests.harness import START_SECONDS, WAIT_SECONDS, Gateway, Receiver, wait_for

# Messages reserved for each fault: before it, while it lasts and for its end. There is no fault when no
# work is left.
BEFORE, MEANWHILE, BACK = CLIENTS, CLIENTS, CLIENTS // 2
# Messages reserved for the time after all faults.
LAST = 40
# The seconds within which every process works again after the end of a fault.
BACK_SECONDS = 90


class Monkey:
    """Breaks one service at random moments."""

    def __init__(
        self,
        gateway: Gateway,
        faults: Sequence[Fault],
        progress: Progress,
        steady: Receiver,
        dice: random.Random,
        say: Callable[[str], None],
    ) -> None:
        self._gateway = gateway
        self._progress = progress
        self._steady = steady
        self._random = dice
        self._say = say
        self.faults = faults
        self.struck: Counter[str] = Counter()
        self.windows = Windows()
        # The start, name and duration of each fault, in seconds.
        self.told: list[str] = []
        # The longest time until all worked again, by the name of the fault.
        self.back: dict[str, float] = {}
        # For each fault: the number of messages and deliveries in progress.
        self.work: list[tuple[int, int]] = []

    def rage(self, number: int, longest: float, *, rests: bool) -> None:
        """Spread ``number`` faults over all messages. ``rests``: the effects of each end before the next."""
        calm = (self._progress.total - LAST) // number - BEFORE - MEANWHILE - BACK
        for fault in planned(self.faults, number, self._random):
            moment = self._progress.started + self._random.randint(1, calm)
            self._progress.allow_more(calm)
            assert self._progress.reach(moment), "the clients came to a halt"
            self.strike(fault, self._random.uniform(*(fault.seconds or (1, longest))))
            if rests:
                time.sleep(RECOVERY_SECONDS)
        time.sleep(RECOVERY_SECONDS)
        self._progress.allow_more(self._progress.total)

    def strike(self, fault: Fault, seconds: float) -> None:
        """Trigger a fault while there is work, and wait for the service to recover."""
        wait_for(self._gateway.is_ready, "a ready service", START_SECONDS)
        self._progress.allow_more(BEFORE)
        self.work.append(wait_for(self._work_under_way, "work under way", START_SECONDS))
        began = time.time()
        with fault.happening():
            answered = self._progress.answered
            self._progress.allow_more(MEANWHILE)
            time.sleep(seconds)
            meanwhile = self._progress.answered - answered
            if fault.is_felt:
                # Responses on their way to the client.
                assert meanwhile <= CLIENTS, f"{fault.name}: {meanwhile} messages were sent"
            elif fault.is_felt is False:
                came = self._progress.reach_answers(answered + CLIENTS, WAIT_SECONDS)
                assert came, f"{fault.name}: nothing was sent meanwhile"
        ended = time.time()
        recovered = self._recover(fault.name, ended)
        if fault.afterwards:
            fault.afterwards()
        self.told.append(f"{began:.1f} {fault.name} for {ended - began:.1f} s")
        back = recovered - ended
        self._say(f"  {fault.name} for {ended - began:.1f} s, all worked {back:.1f} s later")
        self.back[fault.name] = max(back, self.back.get(fault.name, 0))
        self.windows.add(began, time.time() if fault.is_slow else ended)
        self.struck[fault.name] += 1

    def _recover(self, name: str, ended: float) -> float:
        """Wait until web has answered and the worker has delivered. Returns when both had."""
        # A part that starts again would use up the messages: a relay without a network makes them unclear.
        wait_for(self._gateway.is_ready, f"{name}: a ready service", BACK_SECONDS)
        answered = self._progress.answered
        self._progress.allow_more(BACK)
        came = self._progress.reach_answers(answered + 1, BACK_SECONDS)
        assert came, f"{name}: nothing is sent any more"
        left = BACK_SECONDS - (time.time() - ended)
        wait_for(self._delivered_after(ended), f"{name}: a delivery", left)
        return time.time()

    def _delivered_after(self, moment: float) -> Callable[[], bool]:
        return lambda: any(each.at > moment for each in self._steady.at()[-1:])

    def _work_under_way(self) -> tuple[int, int] | None:
        deliveries = self._gateway.stored.count("delivery", "state = 'pending'")
        messages = self._progress.under_way
        return (messages, deliveries) if messages and deliveries else None
