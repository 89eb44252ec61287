"""One storm: clients send messages while faults follow each other, and then the service settles."""

import contextlib
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from contract_tests.backends import SQLITE
from contract_tests.chaos.clocks import Clocks
from contract_tests.chaos.engines import DISK_SIZE, Engines, engines
from contract_tests.chaos.faults import World
from contract_tests.chaos.ledger import LEASE_MARGIN_MS, Ledger
from contract_tests.chaos.monkey import Monkey
from contract_tests.chaos.receivers import (
    FAILING_SHARE,
    MESSAGE_KINDS,
    Hook,
    Hooks,
    Mood,
    attempt_of,
)
from contract_tests.chaos.senders import Answer, Senders
from contract_tests.full_disk import may_mount, small_disk
from contract_tests.harness import Gateway
from contract_tests.relay import HOST, Relay
from contract_tests.stored import Stored

DELIVERY_TIMEOUT = 2
LEASE = DELIVERY_TIMEOUT + LEASE_MARGIN_MS / 1000
# The latency of the network after its acceptance: most of a send, as in production.
LATENCY_MS = 100
# Four attempts at a receiver that fails a third of the time would all fail once in 81, and one that is silent
# for 40 s fails 20 times in a row. All of 41 attempts fail only where something is wrong.
RETRY_SCHEDULE = ",".join(["0.3"] * 40)
# The receiver that is silent at times is the second one's.
STEADY, CHOOSY, FLAKY = "steady", "choosy", "flaky"
KINDS = {STEADY: MESSAGE_KINDS, CHOOSY: ("message.sent", "message.failed"), FLAKY: MESSAGE_KINDS}
POOL = 10
# Outside the pools: up's own connection, web's and worker's for the queue, web's lock, and one for each of
# the worker's four consumers.
MAX_CONNECTIONS = 2 * POOL + 1 + 2 + 1 + 4


@dataclass(frozen=True)
class Aftermath:
    """The state after the storm."""

    ledger: Ledger
    hooks: Hooks
    senders: Senders
    monkey: Monkey
    seconds: float

    def lags(self, hook: Hook) -> list[float]:
        """Seconds from the commit of each event to its arrival, sorted. The time of faults does not count.

        Events that faults cover completely are left out. So are those of ``leased_lags()``.
        """
        return self._lags(hook, leased=False)

    def leased_lags(self, hook: Hook) -> list[float]:
        """Like lags(), for events whose worker died in the previous attempt: they waited for its lease."""
        return self._lags(hook, leased=True)

    def late(self, hook: Hook, seconds: float) -> str:
        """The faults, and the attempts of events that took longer than ``seconds``: explains a failure."""
        commits, attempts = self.ledger.commits(), self.ledger.attempts()
        lines = [*self.monkey.told]
        for event, received in hook.arrivals().items():
            delivery_id, _ = attempt_of(received)
            if self.monkey.windows.outside((commits[event], received.at)) > seconds:
                lines.append(f"{commits[event]:.1f} {event} came at {received.at:.1f}:")
                lines += [f"  {row}" for row in attempts if row.delivery_id == delivery_id]
        return "\n".join(lines)

    def _lags(self, hook: Hook, *, leased: bool) -> list[float]:
        lost = {(row.delivery_id, row.number) for row in self.ledger.attempts() if row.is_lost}
        commits, windows = self.ledger.commits(), self.monkey.windows
        found = []
        for event, received in hook.arrivals().items():
            delivery_id, number = attempt_of(received)
            if ((delivery_id, number - 1) in lost) == leased:
                found.append(windows.outside((commits[event], received.at)))
        return sorted(lag for lag in found if lag > 0)

    def report(self) -> str:
        """The counts as text."""
        bodies = [hook.bodies() for hook in self.hooks.all]
        came = sum(len(copies) for found in bodies for copies in found.values())
        answers = Counter(self.senders.answers.values())
        outside = self.monkey.windows.outside
        lines = {
            "messages": f"{len(self.senders.answers)} asked for, {len(self.ledger.accepted())} accepted",
            "answers": ", ".join(f"{answers[kind]} {kind}" for kind in Answer),
            "repeats": f"{self.senders.progress.repeats} requests repeated by the same key",
            "longest": f"{max(map(outside, self.senders.requests)):.1f} s for one request outside of faults",
            "events": f"{len(self.ledger.due_events())} due",
            "deliveries": ", ".join(f"{n} {s}" for s, n in self.ledger.delivery_states().items()),
            "requests": f"{came} received, {came - sum(map(len, bodies))} of them repeated",
            "failures": ", ".join(
                f"{n} {how}" for how, n in self.hooks[FLAKY].mood.failures.items()
            ),
            "faults": f"{self.monkey.struck.total()}: "
            + ", ".join(f"{n} {name}" for name, n in sorted(self.monkey.struck.items())),
            "back": ", ".join(f"{s:.1f} s {name}" for name, s in sorted(self.monkey.back.items())),
            **{f"lag {hook.name}": _figures(self.lags(hook)) for hook in self.hooks.all},
            "leases": ", ".join(
                f"{len(lags)} of {hook.name} waited up to {max(lags):.1f} s for one to end"
                for hook in self.hooks.all
                if (lags := self.leased_lags(hook))
            )
            or "nothing waited for one to end",
            "left": ", ".join(f"{n} {kind}" for kind, n in self.ledger.pending().items()),
            "time": f"{self.seconds:.0f} s",
        }
        return "\n".join(f"  {name:10} {text}" for name, text in lines.items())


def percentile(ordered: list[float], share: float) -> float:
    """The value that this share of the sorted numbers does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _figures(lags: list[float]) -> str:
    if not lags:
        return "of no event outside of faults"
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return f"{len(lags)} events outside of faults: " + ", ".join(
        f"{name} {percentile(lags, share):.3f} s" for name, share in shares.items()
    )


@dataclass(frozen=True)
class Plan:
    """The size, backend and seed of a storm. Most faults last 1 to ``longest`` seconds.

    A large storm has long faults too, and the effects of each end before the next. ``only`` selects faults.
    """

    backend: str
    messages: int
    faults: int
    seed: int
    longest: float
    is_large: bool
    only: str = ""


@contextmanager
def storm(folder: Path, plan: Plan, say: Callable[[str], None]) -> Iterator[Aftermath]:
    """Run the storm, and leave the service running so that tests can read its state."""
    started = time.monotonic()
    with ExitStack() as stack:
        below = stack.enter_context(engines(plan.backend))
        if plan.backend == SQLITE and may_mount():
            stack.enter_context(small_disk(folder / "var", DISK_SIZE))
        gateway, network, clocks = _prepare(folder, below)
        stack.callback(network.cut)
        stack.enter_context(contextlib.closing(hooks := Hooks()))
        stack.callback(gateway.start().stop)
        behaviour = f"{gateway.sandbox}/_sandbox/behaviour"
        requests.put(behaviour, json={"latency_ms": LATENCY_MS}, timeout=10).raise_for_status()
        customer = gateway.customer()
        for name, kinds in KINDS.items():
            share = FAILING_SHARE if name == FLAKY else 0
            hooks.add(customer, name, kinds, Mood(plan.seed, DELIVERY_TIMEOUT + 1, share))
        lines = {"network": network, "receiver": hooks[CHOOSY].line}
        dice = random.Random(plan.seed)  # noqa: S311 - no secret
        faults = World(gateway, below, lines, clocks, dice).faults(long=plan.is_large)
        faults = [fault for fault in faults if re.search(plan.only, fault.name)]
        senders = Senders(customer, plan.seed, plan.messages)
        steady = hooks[STEADY].receiver
        monkey = Monkey(gateway, faults, senders.progress, steady, dice, say)
        with senders.running():
            monkey.rage(plan.faults, plan.longest, rests=plan.is_large)
        say(f"  all is sent after {time.monotonic() - started:.0f} s; waiting for it to settle")
        ledger = Ledger(gateway, customer)
        ledger.settle(seconds=120 + plan.messages / 5)
        yield Aftermath(ledger, hooks, senders, monkey, time.monotonic() - started)


def _prepare(folder: Path, below: Engines) -> tuple[Gateway, Relay, Clocks]:
    """A service that is not started yet, its relay to the network, and its clocks."""
    clocks = Clocks(folder / "clocks")
    settings = {
        "GATEWAY_RETRY_SCHEDULE": RETRY_SCHEDULE,
        "GATEWAY_DELIVERY_TIMEOUT": str(DELIVERY_TIMEOUT),
        "GATEWAY_NETWORK_TIMEOUT": "10",
        "GATEWAY_DATABASE_CONNECTIONS": str(POOL),
        # One receiver fails on purpose, and must not be disabled for it.
        "GATEWAY_DEACTIVATE_AFTER": "1000000",
    }
    gateway = Gateway(folder, **settings, **below.settings, **clocks.environment)
    # The test's own queries bypass the relays that a fault cuts.
    gateway.stored = Stored({**gateway.environment, **below.direct})
    network = Relay(gateway.sandbox_port)
    gateway.environment["GATEWAY_NETWORK_URL"] = f"http://{HOST}:{network.port}"
    return gateway, network, clocks
