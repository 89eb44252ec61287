"""Measures whether the whole service keeps up with complete lives of messages, 100 a second.

``make bench ARGS=life`` runs it. BENCH_LIFE_SECONDS=60 sets the duration (600 for the documented figures),
BENCH_LIFE_RATE=100 the messages a second, and BENCH_LIFE_BACKENDS=SQLite,PostgreSQL+Redis the backends. The
receiver answers after BENCH_LIFE_AFTER=0 milliseconds.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import requests

from benchmarks.backends import running_backend
from benchmarks.harness import percentile
from benchmarks.load import Answers, Load, drive, load_of_sends
from benchmarks.machine import Processors, cpu_seconds
from benchmarks.report import Figure, Goal, Table
from benchmarks.services import ROOT, Parts, parts
from contract_tests.waiting import WAIT_SECONDS, free_port, wait_for
from models import database
from models.deliveries.backlog import Backlog
from models.messages.callback import Callback

SECONDS = float(os.environ.get("BENCH_LIFE_SECONDS", "60"))
RATE = float(os.environ.get("BENCH_LIFE_RATE", "100"))
AFTER_MS = int(os.environ.get("BENCH_LIFE_AFTER", "0"))
BACKENDS = os.environ.get("BENCH_LIFE_BACKENDS", "SQLite,PostgreSQL+Redis").split(",")
WARM_UP, CONNECTIONS = 5.0, 32
SAMPLE_SECONDS = 0.5
# Seconds for running lives to finish after the load.
PATIENCE_SECONDS = 30
SHARE_COMPLETE = 0.99
# Work that arrived in the last seconds waits normally and is not a backlog.
IN_HAND_SECONDS = 0.1
EVENTS = ["message.sent", "message.delivered", "message.read"]
PARTS = ("sandbox", "web", "worker")
METHOD = (
    f"{RATE:.0f} sends a second for {SECONDS:.0f} s, evenly spaced, each with a fresh recipient and"
    " Idempotency-Key. The sandbox responds at once and sends three statuses, 50 ms apart (sent,"
    f" delivered, read). The three events go to one webhook, whose receiver answers after {AFTER_MS} ms. The"
    " lag of an event lasts from its timestamp to its arrival. One process each of web, worker,"
    " sandbox, receiver and load generator. Database and queue servers run on the same machine. A life"
    " lasts from the message's creation to the arrival of its last event. The backlog is due and"
    " unclaimed deliveries, and callbacks that are stored and not ingested."
    f" The arrivals of {IN_HAND_SECONDS} s do not count as growth. PostgreSQL has a quarter of the"
    " memory as its shared_buffers. One run, without a comparison."
)


@dataclass(frozen=True)
class Sample:
    """The waiting work at a time in Unix seconds."""

    at: float
    due: int
    callbacks: int

    @property
    def backlog(self) -> int:
        """The sum of all waiting work."""
        return self.due + self.callbacks


@dataclass(frozen=True)
class Course:
    """The result of a run. ``lives`` are pairs of creation and end in Unix seconds. CPU times are in seconds.

    ``sent_lags`` are the lags of ``message.sent`` in ms.
    ``idle`` is the idle share of all cores during the load, from 0 to 1.
    """

    begin: float
    answers: Answers
    samples: list[Sample]
    lives: list[tuple[float, float]]
    cpu: dict[str, float]
    idle: float
    sent_lags: list[float]

    def backlogs(self, tenth: int) -> list[int]:
        """The backlogs sampled in a tenth of the time, from 0 to 9."""
        length = SECONDS / 10
        start = self.begin + tenth * length
        return [each.backlog for each in self.samples if start <= each.at < start + length]

    def lags(self, half: int) -> list[float]:
        """The duration in milliseconds of the lives that began in a half of the time, 0 or 1."""
        start = self.begin + half * SECONDS / 2
        return [
            (end - created) * 1000
            for created, end in self.lives
            if start <= created < start + SECONDS / 2
        ]

    @property
    def rate(self) -> float:
        """Lives completed a second in the counted time."""
        return sum(self.begin <= end < self.begin + SECONDS for _, end in self.lives) / SECONDS


@contextmanager
def receiver_process() -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The URL of a receiver of events, and its process."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "benchmarks.life_receiver", str(port)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_for(lambda: _lives(url, 0) is not None, "a receiver")
        yield url, process
    finally:
        process.kill()
        process.wait()


def _lives(receiver: str, count: int) -> list[tuple[float, float]] | None:
    """The complete lives, once there are enough or at the timeout."""
    try:
        found = requests.get(f"{receiver}/arrivals/{count}", timeout=PATIENCE_SECONDS).json()
    except requests.ReadTimeout:
        found = requests.get(f"{receiver}/arrivals/0", timeout=PATIENCE_SECONDS).json()
    except requests.ConnectionError:
        return None
    return [(float(name.split()[1]), float(end)) for name, end in found.items()]


def make_load(gateway: Parts, receiver: str) -> Load:
    """Sends of a new customer whose webhook subscribes to the three events."""
    gateway.behave(latency_ms=0)
    customer = gateway.customer()
    webhook = {"url": f"{receiver}/after/{AFTER_MS}", "events": EVENTS}
    customer.request("POST", "/webhooks", json=webhook).raise_for_status()
    number_id = str(customer.number["id"])
    load = load_of_sends(f"{gateway.api}/messages/send", number_id, customer.key)
    return replace(load, connections=CONNECTIONS, seconds=SECONDS, warm_up=WARM_UP, rate=RATE)


class Sampler(threading.Thread):
    """Samples the waiting work on a separate connection."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: list[Sample] = []
        self._stop_asked = threading.Event()

    def run(self) -> None:
        """Sample until ``stop``."""
        while not self._stop_asked.wait(SAMPLE_SECONDS):
            with database.reading():
                waiting = Callback.select().count()
                self.samples.append(Sample(time.time(), Backlog.read().due, waiting))

    def stop(self) -> list[Sample]:
        """Stop sampling. Returns the samples."""
        self._stop_asked.set()
        self.join(WAIT_SECONDS)
        return self.samples


def _run(backend: str) -> Course:
    with ExitStack() as stack:
        kept_in = stack.enter_context(running_backend(backend))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        receiver, process = stack.enter_context(receiver_process())
        gateway = stack.enter_context(parts(folder, *PARTS, **kept_in.settings))
        load = make_load(gateway, receiver)
        database.connect(kept_in.settings.get("GATEWAY_DATABASE_URL") or _sqlite_of(gateway))
        processes = {**gateway.processes, "receiver": process}
        servers = {name: server.process for name, server in kept_in.servers.items()}
        return _observe(load, receiver, {**processes, **servers})


def _sqlite_of(gateway: Parts) -> str:
    return f"sqlite://{gateway.environment['GATEWAY_DATA_DIR']}/gateway.db"


def _observe(
    load: Load, receiver: str, processes: "dict[str, subprocess.Popen[bytes] | None]"
) -> Course:
    pids = {name: process.pid for name, process in processes.items() if process is not None}
    sampler = Sampler()
    sampler.start()
    used = {name: cpu_seconds(pid) for name, pid in pids.items()}
    begin = time.time() + WARM_UP
    processors = Processors()
    answers = drive(load)
    idle = processors.idle
    cpu = {name: cpu_seconds(pid) - used[name] for name, pid in pids.items()}
    samples = sampler.stop()
    lives = _lives(receiver, round(RATE * (WARM_UP + SECONDS))) or []
    arrivals = requests.get(f"{receiver}/lags/0", timeout=PATIENCE_SECONDS).json()
    lags = [lag for at, lag in arrivals if at >= begin]
    return Course(begin, answers, samples, lives, cpu, idle, lags)


def run(_rounds: int) -> Iterator[Table]:
    """Run once on each backend."""
    for name in BACKENDS:
        yield _table(name, _run(name))


def _table(backend: str, course: Course) -> Table:
    first, last = course.backlogs(0), course.backlogs(9)
    table = Table(f"Whole lives of {RATE:.0f} messages a second on {backend}", METHOD)
    table.figures = [Figure(*each) for each in _figures(course, first, last)]
    in_hand = round(IN_HAND_SECONDS * RATE * len(EVENTS))
    missing = round(RATE * (WARM_UP + SECONDS)) - len(course.lives)
    table.goals = [
        Goal("lives completed a second", course.rate, SHARE_COMPLETE * RATE),
        Goal("lives never completed", missing, 0, at_most=True),
        Goal("backlog, last tenth less first tenth", min(last) - min(first), in_hand, at_most=True),
    ]
    return table


def _figures(
    course: Course, first: list[int], last: list[int]
) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    yield "answer to a send, p50", "ms", (course.answers.p50,)
    yield "answer to a send, p99", "ms", (course.answers.p99,)
    for share in (0.5, 0.99):
        lag = percentile(course.sent_lags, share)
        yield f"lag of message.sent, p{share * 100:.0f}", "ms", (lag,)
    for half, name in enumerate(("first half", "second half")):
        for share in (0.5, 0.99):
            lag = percentile(course.lags(half), share)
            yield f"life, {name}, p{share * 100:.0f}", "ms", (lag,)
    for name, seen in (("first", first), ("last", last)):
        yield f"least backlog of the {name} tenth", "", (min(seen),)
        yield f"mean backlog of the {name} tenth", "", (mean(seen),)
    last_end = max((end for _, end in course.lives), default=course.begin)
    yield "last arrival, after the load", "s", (last_end - course.begin - SECONDS,)
    yield "largest backlog", "", (max(each.backlog for each in course.samples),)
    for name, seconds in course.cpu.items():
        yield f"CPU of {name}, for each life", "ms", (1000 * seconds / max(1, len(course.lives)),)
    yield "idle share of the machine", "", (course.idle,)
