"""One broadcast from two workers while faults follow each other, and then everything settles."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import requests

from contract_tests.broadcasts import Broadcast
from contract_tests.chaos.audience import TEMPLATE, Audience
from contract_tests.chaos.broadcast_faults import NETWORK_TIMEOUT, BroadcastWorld
from contract_tests.chaos.crew import Crew
from contract_tests.chaos.engines import Engines, engines
from contract_tests.chaos.fault import SHORT, Fault, planned
from contract_tests.chaos.ledger import Ledger
from contract_tests.chaos.liar import Liar
from contract_tests.chaos.owner import Owner
from contract_tests.harness import START_SECONDS, WAIT_SECONDS, Customer, wait_for
from contract_tests.parts import Parts
from contract_tests.relay import HOST
from contract_tests.stored import Stored

# Room for the log of PostgreSQL. The disk is not to be full.
DISK_SIZE = 4 * 1024**3
# A status comes when the outcome of a send is recorded, also of one that timed out: it must settle that.
KNOBS = {"latency_ms": 50, "status_delay_ms": 1_500 * NETWORK_TIMEOUT, "batch_size": 100}
LIMITS = {"throughput_per_second": 1_000, "messaging_limit": "TIER_UNLIMITED"}
# Until messages leave again after a fault, in seconds: leases end, and watchdogs end processes.
BACK_SECONDS = 120
# Messages that must leave then.
BACK = 5
# The share of the recipients during which faults happen.
STORMY = 0.85


@dataclass(frozen=True)
class Plan:
    """The size, backend and seed of a storm. At most ``rate`` messages a second leave, if it is given."""

    backend: str
    recipients: int
    faults: int
    seed: int
    rate: int | None
    is_large: bool


@dataclass(frozen=True)
class Outcome:
    """The end of a storm, as the network and the API show it. ``lines`` are figures for people."""

    ledger: Ledger
    audience: Audience
    broadcast: Broadcast
    faults: list[Fault]
    struck: Counter[str]
    lines: Mapping[str, str]

    @cached_property
    def accepted(self) -> list[dict[str, Any]]:
        """The messages that the network accepted."""
        return self.ledger.accepted()

    @cached_property
    def reached(self) -> Counter[str]:
        """How often the network accepted a message to each person."""
        return Counter(message["to"] for message in self.accepted)

    @cached_property
    def shown(self) -> dict[str, Any]:
        """The broadcast."""
        return self.broadcast.read()

    @cached_property
    def recipients(self) -> list[dict[str, Any]]:
        """Its recipients."""
        return self.broadcast.recipients()

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """Its messages."""
        return self.broadcast.messages()

    def report(self) -> str:
        """The figures as text."""
        reached = self.reached
        unsent = Counter(each["status"] for each in self.recipients if each["to"] not in reached)
        lines = {
            **self.lines,
            "counts": listed(self.shown["counts"]),
            "accepted": f"{len(self.accepted)} messages to {len(reached)} people",
            "others": listed(unsent),
        }
        return "\n".join(f"  {name:10} {text}" for name, text in lines.items())


def listed(counts: Mapping[str, int]) -> str:
    """Counts as text."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


@contextmanager
def storm(folder: Path, plan: Plan, say: Callable[[str], None]) -> Iterator[Outcome]:
    """Run the storm, and leave the service running so that tests can read its state."""
    began, dice = time.monotonic(), random.Random(plan.seed)  # noqa: S311 - no secret
    with ExitStack() as stack:
        below = stack.enter_context(engines(plan.backend, disk_size=DISK_SIZE))
        parts, network = _prepare(folder, below)
        stack.callback(network.cut)
        stack.callback(parts.start().stop)
        # A worker reads the throughput of the number.
        crew = Crew(parts)
        customer, audience = _customer(parts), Audience.of(plan.recipients, dice)
        faults = BroadcastWorld(parts, crew, below, network, dice).faults(long=plan.is_large)
        owner = Owner(parts, _started(customer, audience, plan), crew.restart_ended)
        struck = _rage(owner, faults, plan, dice, say)
        owner.finish(BACK_SECONDS + plan.recipients / 20)
        sent = time.monotonic() - began
        ledger = Ledger(parts, customer)
        ledger.wait_until_idle(("callbacks", "owed by the network"), BACK_SECONDS)
        settled = time.monotonic() - began
        lines = {
            "time": f"{sent:.0f} s until its end, {settled:.0f} s until all statuses",
            "faults": f"{struck.total()}: {listed(struck)}",
            "spoiled": f"{network.spoiled} sends",
            "resumed": listed(owner.resumed),
            "ended": listed(crew.ended),
        }
        yield Outcome(ledger, audience, owner.broadcast, faults, struck, lines)


def _started(customer: Customer, audience: Audience, plan: Plan) -> Broadcast:
    audience.opt_out(customer)
    rate = {} if plan.rate is None else {"ratePerSecond": plan.rate}
    return Broadcast.started(customer, audience.table, template=TEMPLATE, **rate)


def _rage(
    owner: Owner,
    faults: list[Fault],
    plan: Plan,
    dice: random.Random,
    say: Callable[[str], None],
) -> Counter[str]:
    """Spread the faults over the messages. Returns how often each happened."""
    struck = Counter[str]()
    for fault in planned(faults, plan.faults, dice):
        left = round(STORMY * plan.recipients) - owner.accepted
        _strike(owner, fault, left // (plan.faults - struck.total()), dice, say)
        struck[fault.name] += 1
    return struck


def _strike(
    owner: Owner, fault: Fault, share: int, dice: random.Random, say: Callable[[str], None]
) -> None:
    """Trigger a fault during the next ``share`` of messages, and wait until the service sends again."""
    seconds, last = dice.uniform(*(fault.seconds or SHORT)), owner.accepted + share
    owner.reach(last - round(dice.uniform(0.5, 1) * share), "messages before a fault", BACK_SECONDS)
    assert owner.counts["waiting"], f"{fault.name}: everything is sent"
    began = time.monotonic()
    with fault.happening():
        owner.hold_back(last, seconds)
    ended = time.monotonic()
    owner.reach(owner.accepted + BACK, f"{fault.name}: messages after it", BACK_SECONDS)
    took, back = ended - began, time.monotonic() - ended
    left = f"{owner.counts['waiting']} waiting, {owner.counts['unknown']} unknown"
    say(f"  {fault.name} for {took:.1f} s, sent again {back:.1f} s later: {left}")


def _prepare(folder: Path, below: Engines) -> tuple[Parts, Liar]:
    """A service that is not started yet, and its relay to the network."""
    parts = Parts(folder, **below.settings, GATEWAY_NETWORK_TIMEOUT=str(NETWORK_TIMEOUT))
    # The test's own queries bypass the relays that a fault cuts.
    parts.stored = Stored({**parts.environment, **below.direct})
    network = Liar(parts.sandbox_port)
    parts.environment["GATEWAY_NETWORK_URL"] = f"http://{HOST}:{network.port}"
    return parts, network


def _customer(parts: Parts) -> Customer:
    """A customer whose number has the highest limits, at a network with these knobs."""
    url = f"{parts.sandbox}/_sandbox/behaviour"
    requests.put(url, json=KNOBS, timeout=WAIT_SECONDS).raise_for_status()
    customer = parts.customer()
    parts.sandbox_call(f"numbers/{parts.number_id_of(customer)}/limits", **LIMITS)
    path = f"/numbers/{customer.number['id']}"

    def is_known() -> bool:
        shown: dict[str, Any] = customer.request("GET", path).json()
        known = {"messagingLimit": LIMITS["messaging_limit"], "throughput": "HIGH"}
        return known.items() <= shown.items()

    wait_for(is_known, "the limits of the number", START_SECONDS)
    return customer
