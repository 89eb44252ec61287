"""Measures deliveries a second of our worker, Celery, django-webhook and a bare loop.

Each delivers a backlog, written before it starts, of the same signed body of 500 bytes to one receiver
process. The rate is that of the arrivals between the first tenth and the last, so that start-up does not
count.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import requests

from benchmarks.celery_peer import CeleryPeer
from benchmarks.harness import emit_backlog, gateway_state, make_webhooks, worker
from benchmarks.isolation import receivers
from benchmarks.report import Figure, Goal, Table
from benchmarks.services import PEERS_PYTHON
from contract_tests.servers import RedisServer

MANY, ONE = 20, 1
# Even, because two processes may share it.
COUNT = int(os.environ.get("BENCH_DELIVERIES", "6000"))
# Fewer, because django-webhook is several times slower than the others.
SLOW_COUNT = COUNT // 3
PATIENCE_SECONDS = 120
TITLE = "Deliveries a second"
METHOD = (
    "A backlog of signed events of 500 bytes, delivered to one receiver process over loopback. The rate"
    " is between the first and the last tenth of the arrivals. The gateway claims, leases, and logs"
    " attempts in SQLite (WAL, NORMAL) and on stderr. Celery and django-webhook: prefork, 2 processes,"
    " Redis, prefetch 4. The loop and Celery use requests with a kept session and trust_env off, without"
    " a log. django-webhook logs in SQLite (WAL, NORMAL)."
)


@dataclass(frozen=True)
class Backlog:
    """The deliveries of a contender, and the receiver that reports their arrival."""

    receiver: str
    addresses: int
    count: int

    @property
    def urls(self) -> list[str]:
        """The URLs, which get the events in turns."""
        return [f"{self.receiver}/ok/{number}" for number in range(self.addresses)]

    def wait(self) -> None:
        """Return when all have arrived. Raises requests.ReadTimeout."""
        requests.get(f"{self.receiver}/arrivals/{self.count}", timeout=PATIENCE_SECONDS)

    def rate(self) -> float:
        """Deliveries a second between the first and the last tenth."""
        arrivals = requests.get(f"{self.receiver}/arrivals/{self.count}", timeout=10).json()
        moments: list[float] = sorted(arrivals.values())
        tenth = self.count // 10
        return (self.count - 2 * tenth) / (moments[-tenth] - moments[tenth])


@dataclass(frozen=True)
class Contender:
    """A contender that delivers a backlog. ``drain`` returns when everything has arrived."""

    name: str
    drain: Callable[[Backlog], None]
    addresses: int = MANY
    count: int = COUNT
    rounds: list[float] = field(default_factory=list)

    def take_turn(self) -> None:
        """Run one round, against a new receiver."""
        with receivers() as url:
            backlog = Backlog(url, self.addresses, self.count)
            self.drain(backlog)
            self.rounds.append(backlog.rate())

    def figure(self) -> Figure:
        """Its rate in each round."""
        return Figure(self.name, "1/s", tuple(self.rounds))


def _drain_by_us(backlog: Backlog, workers: int) -> None:
    with gateway_state(), ExitStack() as stack:
        webhooks = make_webhooks(backlog.urls)
        emit_backlog(webhooks, backlog.count)
        for _ in range(workers):
            stack.enter_context(worker())
        backlog.wait()


def _drain_by_celery(backlog: Backlog, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder, RedisServer() as redis:
        peer = CeleryPeer(name, redis.url(0), {"DATABASE": f"{folder}/peer.db"})
        peer.enqueue(backlog.count, backlog.urls)
        with peer.worker(Path(folder, "worker.log")):
            backlog.wait()


def _drain_by_loops(backlog: Backlog, processes: int) -> None:
    module = "benchmarks.peers.requests_loop"
    share = backlog.count // processes
    with ExitStack() as stack:
        for number in range(processes):
            command = [
                str(PEERS_PYTHON),
                "-m",
                module,
                str(number * share),
                str(share),
                *backlog.urls,
            ]
            stack.enter_context(subprocess.Popen(command))
        backlog.wait()


def run(rounds: int) -> list[Table]:
    """Run all contenders in turns."""
    ours = Contender("our worker, 20 addresses", lambda b: _drain_by_us(b, 1))
    loop = Contender("bare requests loop, 20 addresses", lambda b: _drain_by_loops(b, 1))
    celery = Contender(
        "Celery + requests, 20 addresses", lambda b: _drain_by_celery(b, "celery_requests")
    )
    django = Contender(
        "django-webhook, 20 addresses",
        lambda b: _drain_by_celery(b, "django_webhook_app"),
        count=SLOW_COUNT,
    )
    others = [
        Contender("our worker, 1 address", lambda b: _drain_by_us(b, 1), ONE),
        Contender("bare requests loop, 1 address", lambda b: _drain_by_loops(b, 1), ONE),
        Contender("2 of our workers, 20 addresses", lambda b: _drain_by_us(b, 2)),
        Contender("2 bare requests loops, 20 addresses", lambda b: _drain_by_loops(b, 2)),
    ]
    contenders = [ours, celery, django, loop, *others]
    for _ in range(rounds):
        for contender in contenders:
            contender.take_turn()
    table = Table(TITLE, METHOD, [contender.figure() for contender in contenders])
    rate = {
        contender.name: figure.value
        for contender, figure in zip(contenders, table.figures, strict=True)
    }
    table.goals = [
        Goal("ours / Celery, which logs nothing", rate[ours.name] / rate[celery.name], 1),
        Goal("ours / django-webhook, with its log", rate[ours.name] / rate[django.name], 5),
        Goal("ours / bare requests loop, 1 process each", rate[ours.name] / rate[loop.name], 0.6),
    ]
    return [table]
