"""Measures the time from an event's commit to its arrival, on an idle service.

One event at a time, at irregular times, so that polling cannot be in step. The gateway on each backend and
Celery on Redis take turns. For Celery the commit is the time just before the task is enqueued.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests

from benchmarks.celery_peer import CeleryPeer
from benchmarks.harness import emit, gateway_state, make_webhooks, percentile, worker
from benchmarks.isolation import receivers
from benchmarks.report import Figure, Goal, Table
from benchmarks.turns import more_rounds
from contract_tests.servers import PostgresServer, RedisServer
from tasks import queue

EVENTS = int(os.environ.get("BENCH_WAKE_UPS", "150"))
# Events that do not count: the worker opens its connections and fills its caches.
WARM_UP = 10
PAUSE_SECONDS, JITTER_SECONDS = 0.1, 0.1
START_SECONDS, ARRIVAL_SECONDS = 30, 10
P50_MS, P99_MS = 30, 150
TIMES_CELERY = 2
TITLE = "Waking an idle service, from commit to receiver"
METHOD = (
    f"{EVENTS} events of 500 bytes a round, one at a time, 100 to 200 ms apart, one worker. Each backend"
    " is named as database + queue; PostgreSQL waits for the disk. Celery: prefork,"
    " 2 processes, Redis, requests with a kept session."
)

# Starts one delivery of the event of this name, and returns the time of its commit in Unix seconds.
Begin = Callable[[str], float]


@dataclass(frozen=True)
class Contender:
    """A contender. ``ready`` starts it for a receiver."""

    name: str
    ready: Callable[[str], Iterator[Begin]]
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)

    def take_turn(self) -> None:
        """Measure one round, against a new receiver."""
        with receivers() as url, contextmanager(self.ready)(url) as begin:
            lags = _measure(url, begin)
        self.p50.append(percentile(lags, 0.5))
        self.p99.append(percentile(lags, 0.99))

    def figures(self) -> list[Figure]:
        """p50 and p99 in ms."""
        named = (("p50", self.p50), ("p99", self.p99))
        return [Figure(f"{self.name}, {label}", "ms", tuple(each)) for label, each in named]


def _measure(receiver: str, begin: Begin) -> list[float]:
    """The milliseconds from commit to arrival of each event after the warm-up."""
    begun = {"first": begin("first")}
    _arrivals(receiver, 1, START_SECONDS)
    for number in range(WARM_UP + EVENTS):
        time.sleep(PAUSE_SECONDS + random.uniform(0, JITTER_SECONDS))  # noqa: S311 - no secret
        begun[f"msg_{number}"] = begin(f"msg_{number}")
    arrived = _arrivals(receiver, len(begun), ARRIVAL_SECONDS)
    return [(arrived[name] - at) * 1000 for name, at in begun.items()][1 + WARM_UP :]


def _arrivals(receiver: str, count: int, patience: float) -> dict[str, float]:
    """The arrivals, once there are this many. Raises requests.ReadTimeout."""
    answer = requests.get(f"{receiver}/arrivals/{count}", timeout=patience)
    arrived: dict[str, float] = answer.json()
    return arrived


def _we(receiver: str, **urls: str) -> Iterator[Begin]:
    with gateway_state(**urls), worker():
        (webhook,) = make_webhooks([f"{receiver}/ok/0"])

        def begin(name: str) -> float:
            emit([webhook], name, wake=False)
            at = time.time()
            queue.deliveries.ring()
            return at

        yield begin


def _we_on_postgresql(receiver: str) -> Iterator[Begin]:
    with PostgresServer(durable=True) as server:
        yield from _we(receiver, GATEWAY_DATABASE_URL=server.database("gateway"))


def _we_on_postgresql_and_redis(receiver: str) -> Iterator[Begin]:
    with PostgresServer(durable=True) as server, RedisServer() as redis:
        url = server.database("gateway")
        yield from _we(receiver, GATEWAY_DATABASE_URL=url, GATEWAY_QUEUE_URL=redis.url(0))


def _celery(receiver: str) -> Iterator[Begin]:
    with tempfile.TemporaryDirectory() as folder, RedisServer() as redis:
        peer = CeleryPeer("celery_requests", redis.url(0))
        log = Path(folder, "worker.log")
        with peer.worker(log), peer.enqueuer(f"{receiver}/ok/0") as begin:
            yield begin


def run(rounds: int) -> list[Table]:
    """Run all contenders in turns."""
    sqlite = Contender("SQLite + SQLite", _we)
    postgresql = Contender("PostgreSQL + PostgreSQL", _we_on_postgresql)
    redis = Contender("PostgreSQL + Redis", _we_on_postgresql_and_redis)
    celery = Contender("Celery, Redis", _celery)
    contenders = [sqlite, celery, postgresql, redis]
    for _ in range(more_rounds(rounds)):
        for contender in contenders:
            contender.take_turn()
    figures = [figure for contender in contenders for figure in contender.figures()]
    return [Table(TITLE, METHOD, figures, _goals({each.name: each.value for each in figures}))]


def _goals(found: dict[str, float]) -> list[Goal]:
    goals = [
        Goal("SQLite, p50 in ms", found["SQLite + SQLite, p50"], P50_MS, at_most=True),
        Goal("SQLite, p99 in ms", found["SQLite + SQLite, p99"], P99_MS, at_most=True),
    ]
    for name in ("PostgreSQL + PostgreSQL", "PostgreSQL + Redis"):
        for label in ("p50", "p99"):
            ratio = found[f"{name}, {label}"] / found[f"Celery, Redis, {label}"]
            goals.append(Goal(f"{name} / Celery, {label}", ratio, TIMES_CELERY, at_most=True))
    return goals
