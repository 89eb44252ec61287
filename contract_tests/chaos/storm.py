"""One storm: messages are sent while everything is killed again and again, and then all settles."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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
            "repeats": f"{self.senders.repeats} requests repeated by the same key",
            "events": f"{len(self.ledger.due_events())} due",
            "deliveries": ", ".join(f"{n} {s}" for s, n in self.ledger.delivery_states().items()),
            "requests": f"{came} received, {came - sum(map(len, bodies))} of them repeated",
            "failures": ", ".join(f"{n} {how}" for how, n in self.mood.failures.items()),
            "kills": f"{self.monkey.kills.total()}: "
            + ", ".join(f"{n} {victim}" for victim, n in sorted(self.monkey.kills.items())),
            "queue": f"deleted {self.monkey.queue_deletions} times",
            "left": ", ".join(f"{n} {kind}" for kind, n in self.ledger.pending().items()),
            "time": f"{self.seconds:.0f} s",
        }
        return "\n".join(f"  {name:10} {text}" for name, text in lines.items())


@contextmanager
def storm(
    folder: Path, messages: int, kills: int, seed: int, say: Callable[[str], None]
) -> Iterator[Aftermath]:
    """Run it all, and leave the service running for a look at what is left."""
    settings = {
        "GATEWAY_RETRY_SCHEDULE": RETRY_SCHEDULE,
        "GATEWAY_DELIVERY_TIMEOUT": str(DELIVERY_TIMEOUT),
        "GATEWAY_NETWORK_TIMEOUT": "10",
        # One receiver fails on purpose, and must not be switched off for it.
        "GATEWAY_DEACTIVATE_AFTER": "1000000",
    }
    started = time.monotonic()
    mood, hooks = Mood(seed, DELIVERY_TIMEOUT + 1), Hooks()
    with running(folder, **settings) as gateway:
        try:
            senders, monkey, ledger = _prepare(gateway, hooks, mood, (messages, kills, seed))
            with senders.running():
                monkey.rage(senders.progress)
            say(f"  all is sent after {time.monotonic() - started:.0f} s; waiting for it to settle")
            ledger.settle(seconds=120 + messages / 5)
            yield Aftermath(ledger, hooks, senders, monkey, mood, time.monotonic() - started)
        finally:
            mood.end()
            hooks.close()


def _prepare(
    gateway: Gateway, hooks: Hooks, mood: Mood, plan: tuple[int, int, int]
) -> tuple[Senders, Monkey, Ledger]:
    messages, kills, seed = plan
    customer = gateway.customer()
    kinds = (MESSAGE_KINDS, ("message.sent", "message.failed"), MESSAGE_KINDS)
    for name, wanted in zip(NAMES, kinds, strict=True):
        receiver = hooks.add(customer, name, wanted)
        if name == "flaky":
            receiver.reply = mood.reply
    return (
        Senders(customer, seed, messages),
        Monkey(gateway, seed, kills),
        Ledger(gateway, customer),
    )
