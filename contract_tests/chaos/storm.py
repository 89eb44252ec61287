"""One storm: messages are sent while everything is killed again and again, and then all settles."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from contract_tests.chaos.engines import Engines, engines
from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.monkey import Monkey
from contract_tests.chaos.receivers import MESSAGE_KINDS, Hooks, Mood
from contract_tests.chaos.senders import Answer, Senders
from contract_tests.harness import Gateway, running

DELIVERY_TIMEOUT = 2
# A receiver that fails a third of the time fails four times in a row once in 81, so the three retries
# that are the default would discard dozens of events. All of 21 attempts fail once in 10 thousand million.
RETRY_SCHEDULE = ",".join(["0.3"] * 20)
NAMES = ("steady", "choosy", "flaky")
POOL = 10
# Beside their pools: up's own connection, web's and worker's for the queue, web's lock, and one for each of
# the worker's four consumers.
MAX_CONNECTIONS = 2 * POOL + 1 + 2 + 1 + 4


@dataclass(frozen=True)
class Aftermath:
    """What is there after the storm."""

    ledger: Ledger
    hooks: Hooks
    senders: Senders
    monkey: Monkey
    mood: Mood
    seconds: float

    def report(self) -> str:
        """The counts, for a person."""
        bodies = [hook.bodies() for hook in self.hooks.all]
        came = sum(len(copies) for found in bodies for copies in found.values())
        answers = Counter(self.senders.answers.values())
        lines = {
            "messages": f"{len(self.senders.answers)} asked for, {len(self.ledger.accepted())} accepted",
            "answers": ", ".join(f"{answers[kind]} {kind}" for kind in Answer),
            "repeats": f"{self.senders.progress.repeats} requests repeated by the same key",
            "longest": f"{max(self.senders.durations):.1f} s for one request",
            "events": f"{len(self.ledger.due_events())} due",
            "deliveries": ", ".join(f"{n} {s}" for s, n in self.ledger.delivery_states().items()),
            "requests": f"{came} received, {came - sum(map(len, bodies))} of them repeated",
            "failures": ", ".join(f"{n} {how}" for how, n in self.mood.failures.items()),
            "kills": f"{self.monkey.kills.total()}: "
            + ", ".join(f"{n} {victim}" for victim, n in sorted(self.monkey.kills.items())),
            "back": f"at most {max(self.monkey.recoveries, default=0):.1f} s after a server was",
            "queue": f"deleted {self.monkey.queue_deletions} times",
            "left": ", ".join(f"{n} {kind}" for kind, n in self.ledger.pending().items()),
            "time": f"{self.seconds:.0f} s",
        }
        return "\n".join(f"  {name:10} {text}" for name, text in lines.items())


@dataclass(frozen=True)
class Plan:
    """How large a storm is, on what, and which."""

    backend: str
    messages: int
    kills: int
    seed: int


@contextmanager
def storm(folder: Path, plan: Plan, say: Callable[[str], None]) -> Iterator[Aftermath]:
    """Run it all, and leave the service running for a look at what is left."""
    settings = {
        "GATEWAY_RETRY_SCHEDULE": RETRY_SCHEDULE,
        "GATEWAY_DELIVERY_TIMEOUT": str(DELIVERY_TIMEOUT),
        "GATEWAY_NETWORK_TIMEOUT": "10",
        "GATEWAY_DATABASE_CONNECTIONS": str(POOL),
        # One receiver fails on purpose, and must not be switched off for it.
        "GATEWAY_DEACTIVATE_AFTER": "1000000",
    }
    started = time.monotonic()
    mood, hooks = Mood(plan.seed, DELIVERY_TIMEOUT + 1), Hooks()
    with engines(plan.backend) as below, running(folder, **settings, **below.settings) as gateway:
        try:
            senders, monkey, ledger = _prepare(gateway, below, hooks, mood, plan)
            with senders.running():
                monkey.rage()
            say(f"  all is sent after {time.monotonic() - started:.0f} s; waiting for it to settle")
            ledger.settle(seconds=120 + plan.messages / 5)
            yield Aftermath(ledger, hooks, senders, monkey, mood, time.monotonic() - started)
        finally:
            mood.end()
            hooks.close()


def _prepare(
    gateway: Gateway, below: Engines, hooks: Hooks, mood: Mood, plan: Plan
) -> tuple[Senders, Monkey, Ledger]:
    customer = gateway.customer()
    kinds = (MESSAGE_KINDS, ("message.sent", "message.failed"), MESSAGE_KINDS)
    for name, wanted in zip(NAMES, kinds, strict=True):
        receiver = hooks.add(customer, name, wanted)
        if name == "flaky":
            receiver.reply = mood.reply
    senders = Senders(customer, plan.seed, plan.messages)
    return (
        senders,
        Monkey(gateway, below.outages, senders.progress, plan.seed, plan.kills),
        Ledger(gateway, customer),
    )
