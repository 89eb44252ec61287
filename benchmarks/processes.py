"""Compares one and two web processes, and one and two workers, on PostgreSQL and Redis.

Each process has a fixed share of a core. The databases, the sandbox, the receiver and the load use the rest,
so two cores are enough to measure the difference. BENCH_SHARE=0.2 sets that share, BENCH_SECONDS=8 the
duration of the load on webs, BENCH_PROCESSES_BACKLOG=4000 the deliveries of the workers.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import requests

from benchmarks import quota
from benchmarks.backends import POSTGRESQL_AND_REDIS, running_backend
from benchmarks.delivering import Backlog
from benchmarks.harness import emit_backlog, gateway_state, make_webhooks, worker
from benchmarks.isolation import receivers
from benchmarks.load import Load, drive
from benchmarks.machine import Processors
from benchmarks.report import Figure, Goal, Table
from benchmarks.sending import make_customer, make_load
from benchmarks.services import parts
from contract_tests.waiting import START_SECONDS, WAIT_SECONDS, free_port, wait_for
from tasks import queue

SHARE = float(os.environ.get("BENCH_SHARE", "0.2"))
COUNT = int(os.environ.get("BENCH_PROCESSES_BACKLOG", "4000"))
# At ten deliveries each, a worker with room for five hundred cannot claim all that is due.
ADDRESSES = 100
CONNECTIONS, WARM_UP = 8, 2
FACTOR, IDLE = 1.6, 0.1
# The wake-up for a backlog reaches one worker. The other one finds the work by polling.
SWEEP_SECONDS = "0.5"
UNBOUNDED = "No control groups are permitted on this machine: the processes share all cores."
SENDING = (
    "PostgreSQL and Redis. Each web process has its own port, and gets requests over"
    f" {CONNECTIONS} kept connections in a closed loop, as behind a balancer that distributes evenly."
    " One sandbox without latency that sends no statuses. No worker."
)
DELIVERING = (
    f"PostgreSQL and Redis. {COUNT} signed events of 500 bytes to {ADDRESSES} webhooks at one receiver"
    " process, written while the workers are idle; the rate between the first and the last tenth of the"
    " arrivals."
)

# The rate of work a second, and the idle share of the machine's cores meanwhile.
Measured = tuple[float, float]


def run(rounds: int) -> list[Table]:
    """The tables of webs and of workers."""
    held = f"Each process is held to {SHARE:g} of a core." if quota.is_available() else UNBOUNDED
    print(f"processes: {held}", file=sys.stderr, flush=True)
    with _webs() as loads:
        webs = {"1 web": lambda: _drive(loads[:1]), "2 webs": lambda: _drive(loads)}
        sending = _in_turns(rounds, webs)
    workers = {"1 worker": lambda: _drain(1), "2 workers": lambda: _drain(2)}
    delivering = _in_turns(rounds, workers)
    return [
        _table("Sends a second by one web and by two", f"{SENDING} {held}", sending),
        _table("Deliveries a second by one worker and by two", f"{DELIVERING} {held}", delivering),
    ]


def _in_turns(
    rounds: int, turns: Mapping[str, Callable[[], Measured]]
) -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name, take in turns.items():
            found[name].append(take())
    return found


def _table(title: str, method: str, found: Mapping[str, Sequence[Measured]]) -> Table:
    rates = [Figure(name, "1/s", tuple(rate for rate, _ in seen)) for name, seen in found.items()]
    idle = [
        Figure(f"{name}, idle share of the machine", "", tuple(share for _, share in seen))
        for name, seen in found.items()
    ]
    goals = [
        Goal("two to one", rates[1].value / rates[0].value, FACTOR),
        Goal("least idle share", min(figure.value for figure in idle), IDLE),
    ]
    return Table(title, method, [*rates, *idle], goals)


@contextmanager
def _webs() -> Iterator[list[Load]]:
    """Two web processes of one gateway, each with its load. They run in all rounds, idle without load."""
    with ExitStack() as stack:
        settings = dict(stack.enter_context(running_backend(POSTGRESQL_AND_REDIS)).settings)
        shares = [stack.enter_context(quota.share(SHARE)) for _ in range(2)]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        first = stack.enter_context(parts(folder, "sandbox", "web", **settings))
        settings["GATEWAY_SANDBOX_PORT"] = str(first.sandbox_port)
        second = stack.enter_context(parts(folder, "web", **settings))
        first.behave(latency_ms=0, no_status=1)
        customer = make_customer(first)
        for web, share in zip((first.web, second.web), shares, strict=True):
            share.hold(web.pid)
        loads = [
            make_load(gateway.web, str(customer.number["id"]), customer.key)
            for gateway in (first, second)
        ]
        yield [replace(load, connections=CONNECTIONS, warm_up=WARM_UP) for load in loads]


def _drive(loads: Sequence[Load]) -> Measured:
    processors = Processors()
    with ThreadPoolExecutor(len(loads)) as pool:
        answers = list(pool.map(drive, loads))
    return sum(each.rate for each in answers), processors.idle


def _drain(workers: int) -> Measured:
    with ExitStack() as stack:
        settings = dict(stack.enter_context(running_backend(POSTGRESQL_AND_REDIS)).settings)
        settings["GATEWAY_SWEEP_INTERVAL"] = SWEEP_SECONDS
        stack.enter_context(gateway_state(**settings))
        backlog = Backlog(stack.enter_context(receivers()), ADDRESSES, COUNT)
        webhooks = make_webhooks(backlog.urls)
        for _ in range(workers):
            stack.enter_context(_worker())
        emit_backlog(webhooks, COUNT)
        processors = Processors()
        queue.deliveries.ring()
        backlog.wait()
        return backlog.rate(), processors.idle


@contextmanager
def _worker() -> Iterator[None]:
    """A running, idle worker with its share."""
    at = f"127.0.0.1:{free_port()}"
    with quota.share(SHARE) as share, worker(GATEWAY_WORKER_METRICS_AT=at) as process:
        wait_for(lambda: _is_served(f"http://{at}"), "a worker", START_SECONDS)
        share.hold(process.pid)
        yield


def _is_served(url: str) -> bool:
    try:
        return requests.get(url, timeout=WAIT_SECONDS).ok
    except requests.ConnectionError:
        return False
