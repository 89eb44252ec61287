"""Measures ``gateway up`` in the way in which webhook servers are compared: Svix, Convoy, Outpost.

``make bench-peers`` runs it. An event is a signed callback with an inbound message, so it costs a message and
a contact too. BENCH_BACKENDS=SQLite,PostgreSQL+Redis sets the backends, BENCH_SECONDS=20 the duration of a
steady rate, BENCH_EVENTS=1500 the events of a burst.
"""

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import requests

from benchmarks.backends import SQLITE, running_backend
from benchmarks.callbacks import PATH, make_callback
from benchmarks.harness import percentile
from benchmarks.isolation import receivers
from benchmarks.load import Load, drive, load_of_sends
from benchmarks.machine import cpu_seconds
from benchmarks.report import Figure, Goal, Table
from contract_tests.memory import memory_kib
from contract_tests.service import Gateway
from contract_tests.waiting import wait_for
from gateway.settings import Settings

BACKENDS = os.environ.get("BENCH_BACKENDS", SQLITE).split(",")
SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
EVENTS = int(os.environ.get("BENCH_EVENTS", "1500"))
# Each goes to 20 endpoints.
FEWER_EVENTS = max(1, EVENTS // 15)
LOW_RATE, RATE = 5, 50
ENDPOINTS, TENANTS, HANGING = 20, 20, 2
# The load under which the worker is killed after half of the time, in events a second.
KILLED_AT_RATE, KILLED_SECONDS = 200, SECONDS / 2
BURST_SECONDS = 0.1
FLOOD_RATE, FLOOD_CONNECTIONS = 3_000, 300
# Longer than the lease of a worker that was killed.
PATIENCE_SECONDS = 120
QUIET_SECONDS = 1
LATE_MS = 1000
PARTS = ("web", "worker")
WAITING = (
    "SELECT count(*) FROM callback WHERE ingested_at IS NULL",
    "SELECT count(*) FROM delivery WHERE state = 'pending'",
)
METHOD = (
    "`gateway up` with its processes; PostgreSQL waits for the disk, Redis appends to its file. Signed"
    " callbacks of one inbound message each over 16 kept connections, sends too; one receiver process."
    f" Latency from the time when a request was due to its event's arrival, {SECONDS:g} s at each rate."
    f" Bursts of {EVENTS} events to 1 endpoint, {FEWER_EVENTS} to {ENDPOINTS}, from the first request to the"
    f" last arrival. {HANGING} of {TENANTS} tenants never respond and get a tenth of the events. One tenant"
    f" gets {FLOOD_RATE:,} callbacks a second beside {LOW_RATE} events of another one. At"
    f" {KILLED_AT_RATE} events a second the worker gets SIGKILL once, and `gateway up` starts it again."
    " CPU of web, worker, PostgreSQL and Redis."
)

# The name, unit and value of a figure.
Measured = tuple[str, str, float]


@dataclass(frozen=True)
class Sent:
    """The events of a load: their digits, and when their requests were due in Unix seconds."""

    starts: Sequence[tuple[str, float]]

    def of(self, tenants: range) -> "Sent":
        """Those of some of the tenants, which got events in turns."""
        return Sent([each for n, each in enumerate(self.starts) if n % TENANTS in tenants])


@dataclass(frozen=True)
class Service:
    """A gateway with its receiver, and the pids of its database and queue servers."""

    gateway: Gateway
    receiver: str
    servers: Sequence[int] = field(default_factory=list)

    def load(self, paths: Sequence[Sequence[str]]) -> Load:
        """A load of events for new accounts in turns, each with webhooks at these paths of the receiver."""
        bodies = []
        for urls in paths:
            customer = self.gateway.customer()
            for path in urls:
                webhook = {"url": f"{self.receiver}/{path}", "events": ["message.received"]}
                customer.request("POST", "/webhooks", json=webhook).raise_for_status()
            bodies.append(json.dumps(make_callback(self.gateway.number_id_of(customer))))
        secret = Settings().network_app_secret.get_secret_value()
        load = Load(
            self.gateway.url + PATH,
            {"Content-Type": "application/json"},
            bodies[0],
            more_bodies=tuple(bodies[1:]),
            warm_up=0,
            app_secret=secret,
        )
        # The first response of a receiver ends the trial of its webhook.
        self.send(load, len(bodies), BURST_SECONDS)
        time.sleep(QUIET_SECONDS)
        return load

    def load_of_sends(self) -> Load:
        """A load of sends of a new account, whose webhook gets an event when a message was sent."""
        customer = self.gateway.customer()
        webhook = {"url": f"{self.receiver}/ok/0", "events": ["message.sent"]}
        customer.request("POST", "/webhooks", json=webhook).raise_for_status()
        number_id = str(customer.number["id"])
        load = load_of_sends(f"{self.gateway.api}/messages/send", number_id, customer.key)
        load = replace(load, warm_up=0)
        self.send(load, 1, BURST_SECONDS)
        time.sleep(QUIET_SECONDS)
        return load

    def send(self, load: Load, events: float, seconds: float) -> Sent:
        """Send about this number of events, evenly spaced if the service is fast enough."""
        return Sent(drive(replace(load, rate=events / seconds, seconds=seconds)).starts)

    def arrivals(self, sent: Sent, times: int = 1) -> dict[str, list[float]]:
        """When each event arrived, once all have arrived this often or at the limit."""

        def look() -> dict[str, list[float]] | None:
            found: dict[str, list[float]] = {digits: [] for digits, _ in sent.starts}
            for key, at in self._all_arrivals().items():
                digits = key.partition(" ")[0]
                if digits in found:
                    found[digits].append(at)
            is_done = all(len(each) >= times for each in found.values())
            return found if is_done or time.monotonic() > end else None

        end = time.monotonic() + PATIENCE_SECONDS
        return wait_for(look, "the last arrival", 2 * PATIENCE_SECONDS)

    def _all_arrivals(self) -> dict[str, float]:
        found: dict[str, float] = requests.get(f"{self.receiver}/arrivals/0", timeout=10).json()
        return found

    def wait_until_idle(self) -> None:
        """Wait until no callback and no delivery is waiting."""
        wait_for(
            lambda: all(self.gateway.stored.rows(query) == [(0,)] for query in WAITING),
            "an idle service",
            PATIENCE_SECONDS,
        )

    @property
    def memory(self) -> float:
        """The resident memory of web and worker in MiB."""
        return sum(memory_kib(self.gateway.part(name)) for name in PARTS) / 1024

    @property
    def cpu(self) -> float:
        """The CPU seconds of web, worker and the servers so far."""
        pids = [*(self.gateway.part(name) for name in PARTS), *self.servers]
        return sum(map(cpu_seconds, pids))


@contextmanager
def prepared_service(backend: str) -> Iterator[Service]:
    """A gateway to start, with its servers and a receiver. None of them outlives the block."""
    with (
        running_backend(backend, durable=True) as state,
        tempfile.TemporaryDirectory() as folder,
        receivers("benchmarks.webhook_servers_receiver") as url,
    ):
        gateway = Gateway(Path(folder), **state.settings)
        pids = [each.process.pid for each in state.servers.values() if each.process]
        try:
            yield Service(gateway, url, pids)
        finally:
            if gateway.is_running:
                gateway.stop()


def run(rounds: int) -> Iterator[Table]:
    """One table for each backend."""
    for backend in BACKENDS:
        found = [list(_round(backend)) for _ in range(rounds)]
        figures = [
            Figure(name, unit, tuple(value for _, _, value in seen))
            for seen in zip(*found, strict=True)
            for name, unit, _ in seen[:1]
        ]
        lost = max(max(each.rounds) for each in figures if each.name.endswith("lost"))
        goals = [Goal("lost events", lost, 0, at_most=True)]
        yield Table(f"As webhook servers are compared, on {backend}", METHOD, figures, goals)


def _round(backend: str) -> Iterator[Measured]:
    with prepared_service(backend) as service:
        began = time.monotonic()
        service.gateway.start()
        yield "start to ready", "s", time.monotonic() - began
        yield "memory of web and worker, at rest", "MiB", service.memory
        one = service.load([["ok/0"]])
        sends = service.load_of_sends()
        for rate in (LOW_RATE, RATE):
            yield from _latency("events", one, service, rate)
            yield from _latency("sends", sends, service, rate)
        yield from _burst(service, one, EVENTS, 1)
        many = service.load([[f"ok/{number}" for number in range(ENDPOINTS)]])
        yield from _burst(service, many, FEWER_EVENTS, ENDPOINTS)
        yield from _killed(service, one)
        # Before the deliveries of hanging tenants wait for their retries.
        yield from _beside_flood(service)
        yield from _beside_hanging(service)
        yield "memory of web and worker, after the load", "MiB", service.memory


def _latency(name: str, load: Load, service: Service, rate: float) -> Iterator[Measured]:
    sent = service.send(load, rate * SECONDS, SECONDS)
    yield from _lags(f"{rate:g} {name} a second", sent, service.arrivals(sent))


def _lags(name: str, sent: Sent, arrived: dict[str, list[float]]) -> Iterator[Measured]:
    lags = [(min(arrived[digits]) - at) * 1000 for digits, at in sent.starts if arrived[digits]]
    for share in (0.5, 0.99):
        yield f"{name}, p{100 * share:.0f}", "ms", percentile(lags, share)
    yield f"{name}, within 1 s", "%", 100 * sum(lag < LATE_MS for lag in lags) / len(sent.starts)
    yield f"{name}, lost", "", len(sent.starts) - len(lags)


def _burst(service: Service, load: Load, events: int, endpoints: int) -> Iterator[Measured]:
    cpu = service.cpu
    sent = service.send(load, events, BURST_SECONDS)
    arrived = service.arrivals(sent, endpoints)
    service.wait_until_idle()
    used = service.cpu - cpu
    name = f"{endpoints} endpoint{'s' if endpoints > 1 else ''}"
    count = sum(map(len, arrived.values()))
    yield f"{name}, events a second", "1/s", _rate(sent, arrived) / endpoints
    yield f"{name}, CPU an event", "ms", 1000 * used / len(sent.starts)
    if endpoints > 1:
        yield f"{name}, deliveries a second", "1/s", _rate(sent, arrived)
        yield f"{name}, CPU a delivery", "ms", 1000 * used / count
    yield f"{name}, lost", "", len(sent.starts) * endpoints - count


def _rate(sent: Sent, arrived: dict[str, list[float]]) -> float:
    """Deliveries a second from the first request to the last arrival."""
    moments = [at for times in arrived.values() for at in times]
    return len(moments) / (max(moments) - min(at for _, at in sent.starts))


def _killed(service: Service, load: Load) -> Iterator[Measured]:
    """The worker is killed once under load."""
    killed: list[float] = []

    def kill() -> None:
        killed.append(time.time())
        service.gateway.kill("worker")

    timer = threading.Timer(KILLED_SECONDS / 2, kill)
    timer.start()
    try:
        sent = service.send(load, KILLED_AT_RATE * KILLED_SECONDS, KILLED_SECONDS)
    finally:
        timer.cancel()
        timer.join()
    service.arrivals(sent)
    # What the killed worker had sent may arrive again when its lease has ended.
    service.wait_until_idle()
    arrived = service.arrivals(sent)
    before = [digits for digits, at in sent.starts if at < killed[0]]
    yield "SIGKILL of the worker, lost", "", sum(not times for times in arrived.values())
    yield "SIGKILL of the worker, twice", "", sum(len(times) > 1 for times in arrived.values())
    last = max((min(arrived[digits]) for digits in before if arrived[digits]), default=killed[0])
    yield "SIGKILL, until all before it arrived", "s", max(0.0, last - killed[0])


def _beside_hanging(service: Service) -> Iterator[Measured]:
    """The events of the other tenants while some hang."""
    paths = [[f"{'hang' if number < HANGING else 'ok'}/{number}"] for number in range(TENANTS)]
    load, others = service.load(paths), range(HANGING, TENANTS)
    sent = service.send(load, RATE * SECONDS, SECONDS).of(others)
    name = f"{HANGING} of {TENANTS} hang"
    yield from _lags(f"{name}, {RATE} a second", sent, service.arrivals(sent))
    sent = service.send(load, EVENTS, BURST_SECONDS).of(others)
    yield f"{name}, events a second", "1/s", _rate(sent, service.arrivals(sent))


def _beside_flood(service: Service) -> Iterator[Measured]:
    """The events of a tenant while another one gets more callbacks than the gateway can ingest."""
    flood = replace(service.load([["ok/0"]]), connections=FLOOD_CONNECTIONS)
    other = service.load([["ok/1"]])
    with ThreadPoolExecutor(1) as pool:
        flooding = pool.submit(service.send, flood, FLOOD_RATE * SECONDS, SECONDS)
        sent = service.send(other, LOW_RATE * SECONDS, SECONDS)
        flooding.result()
    name = f"beside {FLOOD_RATE:,} callbacks a second"
    yield from _lags(name, sent, service.arrivals(sent))
    service.wait_until_idle()
