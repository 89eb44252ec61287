"""Measures broadcasts of 20,000 messages, alone and with single sends of the same number beside it.

``make bench-broadcasts`` runs it.

BENCH_RECIPIENTS=20000 sets the recipients. BENCH_NUMBERS=1 is how many numbers share them, each with a
broadcast of its own. BENCH_BROADCAST_BACKENDS=SQLite,PostgreSQL+Redis sets the backends, BENCH_SEND_RATE=20
the single sends a second. BENCH_STATUSES=1 lets the sandbox send three statuses for each message, which the
web process records meanwhile. BENCH_WEBHOOKS=1 delivers the events of each message to a receiver.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from peewee import fn

from benchmarks.backends import POSTGRESQL_AND_REDIS, SQLITE, running_backend
from benchmarks.harness import resident_mib
from benchmarks.life import EVENTS, receiver_process
from benchmarks.load import Answers, Load, drive, load_of_sends
from benchmarks.machine import Processors, cpu_seconds
from benchmarks.report import Figure, Table, show
from benchmarks.services import Parts, parts
from contract_tests.service import Customer
from contract_tests.waiting import wait_for
from models import database
from models.broadcasts.broadcast import Broadcast, BroadcastState
from models.broadcasts.recipient import Entry
from models.database import fetch
from models.messages.message import Message, MessageStatus
from models.numbers.number import Number
from resources.broadcast import allowed_rate
from services import broadcasts
from services.broadcast_pace import MARGIN

RECIPIENTS = int(os.environ.get("BENCH_RECIPIENTS", "20000"))
NUMBERS = int(os.environ.get("BENCH_NUMBERS", "1"))
BACKENDS = os.environ.get("BENCH_BROADCAST_BACKENDS", f"{SQLITE},{POSTGRESQL_AND_REDIS}").split(",")
SEND_RATE = float(os.environ.get("BENCH_SEND_RATE", "20"))
HAS_STATUSES = os.environ.get("BENCH_STATUSES", "0") == "1"
HAS_WEBHOOKS = os.environ.get("BENCH_WEBHOOKS", "0") == "1"
LATENCY_MS, STATUSES_TOGETHER = 100, 100
CONNECTIONS, ALONE_SECONDS, WARM_UP = 32, 10.0, 2.0
# The part of a broadcast's duration during which single sends run beside it.
SHARE_BESIDE = 0.7
PATIENCE_SECONDS = 900
# The highest limits of a number: messages a second, and people in 24 hours.
THROUGHPUT, LIMIT = 1_000, "TIER_UNLIMITED"
# A template that each business account of the sandbox has.
CONTENT = {
    "name": "sample_reminder",
    "language": {"code": "en_US"},
    "components": [
        {
            "type": "body",
            "parameters": [
                {"type": "text", "text": "{{name}}"},
                {"type": "text", "text": "{{at}}"},
            ],
        }
    ],
}
METHOD = (
    f"{RECIPIENTS:,} recipients of {NUMBERS} {'number' if NUMBERS == 1 else 'numbers'}, each with two"
    f" parameters of a template. A number may send {THROUGHPUT:,} messages a second, of which broadcasts use"
    f" {MARGIN:.0%}. The sandbox responds after {LATENCY_MS} ms and sends"
    f" {'three statuses' if HAS_STATUSES else 'no statuses'}."
    f" {'A webhook gets their events.' if HAS_WEBHOOKS else 'There are no webhooks.'}"
    " One process each of web, worker, sandbox and load generator, and the servers of the database and the"
    " queue, on one machine. The rate is that between the first and the last message. The second broadcast"
    f" runs beside {SEND_RATE:g} single sends a second"
    " of the same number, evenly spaced; their latency counts from the time when they were due. One run."
)


@dataclass(frozen=True)
class Sent:
    """A broadcast that is done: messages a second, the worker's CPU time for each in ms, and the idle share.

    ``resident`` is the worker's memory afterwards, in MiB.
    """

    rate: float
    cpu: float
    idle: float
    resident: float


@dataclass(frozen=True)
class Bench:
    """A gateway with numbers that may send a broadcast each."""

    gateway: Parts
    numbers: list[Number]
    load: Load

    @classmethod
    def of(cls, gateway: Parts, receiver: str | None) -> Self:
        """Connect the numbers, their webhooks to the receiver, and this process to the gateway's database."""
        few = {} if HAS_STATUSES else {"no_status": 1}
        gateway.behave(latency_ms=LATENCY_MS, batch_size=STATUSES_TOGETHER, **few)
        database.connect(gateway.stored.database_url or f"sqlite://{gateway.stored.database_path}")
        customers = [gateway.customer() for _ in range(NUMBERS)]
        if receiver is not None:
            webhook = {"url": f"{receiver}/after/0", "events": EVENTS}
            for each in customers:
                each.request("POST", "/webhooks", json=webhook).raise_for_status()
        numbers = [_raise_limits(gateway, customer) for customer in customers]
        load = load_of_sends(f"{gateway.api}/messages/send", numbers[0].id, customers[0].key)
        load = replace(load, connections=CONNECTIONS, warm_up=WARM_UP, rate=SEND_RATE)
        return cls(gateway, numbers, load)

    @property
    def resident(self) -> float:
        """The worker's memory, in MiB."""
        return resident_mib(self.gateway.processes["worker"])

    def broadcast(self, part: int) -> Sent:
        """Send a broadcast of each number to people that no other ``part`` has."""
        pid = self.gateway.processes["worker"].pid
        ids = [self._create(number, part).id for number in self.numbers]
        used, processors = cpu_seconds(pid), Processors()
        for broadcast_id in ids:
            broadcasts.start(Broadcast.get_by_id(broadcast_id))
        wait_for(lambda: all(map(_is_done, ids)), "the end of the broadcasts", PATIENCE_SECONDS)
        idle, cpu = processors.idle, cpu_seconds(pid) - used
        return Sent(_rate_of(ids), 1000 * cpu / RECIPIENTS, idle, self.resident)

    def beside(self, part: int, seconds: float) -> tuple[Sent, Answers]:
        """Send a broadcast, and single messages during the first seconds of it."""
        with ThreadPoolExecutor(1) as pool:
            sends: Future[Answers] = pool.submit(drive, replace(self.load, seconds=seconds))
            sent = self.broadcast(part)
            if not sends.done():
                raise RuntimeError("the single sends lasted longer than the broadcast")
            return sent, sends.result()

    def _create(self, number: Number, part: int) -> Broadcast:
        first, count = 4_915_100_000_000 + part * RECIPIENTS, RECIPIENTS // NUMBERS
        people = [
            Entry(str(first + at), {"name": f"Person {at}", "at": "Friday at noon"})
            for at in range(count)
        ]
        return broadcasts.create(number, CONTENT, people, name=f"Part {part}", type="template")


def _raise_limits(gateway: Parts, customer: Customer) -> Number:
    """The customer's number, which gets no messaging limit, and the highest throughput."""
    number_id = str(customer.number["id"])
    path = f"numbers/{gateway.number_id_of(customer)}/limits"
    gateway.sandbox_call(path, messaging_limit=LIMIT, throughput_per_second=THROUGHPUT)

    def is_raised() -> bool:
        number = Number.get_by_id(number_id)
        return number.messaging_limit == LIMIT and allowed_rate(number) == THROUGHPUT

    wait_for(is_raised, "the number's new limits")
    return Number.get_by_id(number_id)


def _is_done(broadcast_id: str) -> bool:
    row = Broadcast.get_by_id(broadcast_id)
    if row.state not in {BroadcastState.RUNNING, BroadcastState.DONE}:
        raise RuntimeError(f"the broadcast is {row.state}: {row.reason} {row.detail}")
    return bool(row.state == BroadcastState.DONE)


def _rate_of(ids: list[str]) -> float:
    """Messages a second between the first and the last. Raises RuntimeError unless all were sent."""
    created, theirs = Message.created_at, Message.broadcast_id.in_(ids)
    accepted = Message.status.not_in([MessageStatus.PENDING, MessageStatus.UNKNOWN])
    query = Message.select(fn.COUNT(Message.id), fn.MIN(created), fn.MAX(created))
    [(count, first, last)] = fetch(query.where(theirs, accepted).tuples())
    if count != RECIPIENTS:
        raise RuntimeError(f"{count:,} messages were sent")
    return float(1000 * (count - 1) / (last - first))


@contextmanager
def _bench(backend: str) -> Iterator[Bench]:
    with ExitStack() as stack:
        settings = stack.enter_context(running_backend(backend)).settings
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        gateway = stack.enter_context(parts(folder, "sandbox", "web", "worker", **settings))
        receiver = stack.enter_context(receiver_process())[0] if HAS_WEBHOOKS else None
        yield Bench.of(gateway, receiver)


def measure(backend: str) -> Table:
    """Send both broadcasts on a backend."""
    with _bench(backend) as bench:
        sends = drive(replace(bench.load, seconds=ALONE_SECONDS))
        before = bench.resident
        alone = bench.broadcast(0)
        seconds = SHARE_BESIDE * RECIPIENTS / alone.rate - WARM_UP
        beside, sends_beside = bench.beside(1, seconds)
    table = Table(f"A broadcast of {RECIPIENTS:,} messages, on {backend}", METHOD)
    figures: dict[str, tuple[str, float]] = {
        "messages": ("1/s", alone.rate),
        "messages, beside single sends": ("1/s", beside.rate),
        "CPU of the worker, for each": ("ms", alone.cpu),
        "memory of the worker before": ("MiB", before),
        "memory of the worker after one": ("MiB", alone.resident),
        "memory of the worker after two": ("MiB", beside.resident),
        "idle share of the machine": ("", alone.idle),
        "single send, p50": ("ms", sends.p50),
        "single send, p99": ("ms", sends.p99),
        "single send beside a broadcast, p50": ("ms", sends_beside.p50),
        "single send beside a broadcast, p99": ("ms", sends_beside.p99),
    }
    table.figures = [Figure(name, unit, (value,)) for name, (unit, value) in figures.items()]
    return table


def tables() -> Iterator[Table]:
    """One for each backend."""
    for backend in BACKENDS:
        processors = Processors()
        table = measure(backend)
        table.stolen = processors.stolen
        yield table


if __name__ == "__main__":
    sys.exit(show(tables()))
