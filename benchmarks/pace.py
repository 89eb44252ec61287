"""Measures the pace of one webhook: at receivers of different speed, at one that refuses, and in batches.

A worker drains a backlog for one webhook. At a receiver that answers after some time, the rate is that of the
arrivals after a warm-up. In batches, rate and CPU of the worker count from the first arrival. At a receiver
that accepts 15 requests a second, the figures are the part of the requests that it refused, the seconds until
all events have arrived, and the events that have not.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from benchmarks.harness import emit_backlog, gateway_state, make_webhooks, worker
from benchmarks.isolation import receivers
from benchmarks.machine import cpu_seconds
from benchmarks.report import Figure, Goal, Table
from models.database import reading, writing
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook

# The answer times in ms, and events for more than the measured time.
BACKLOGS = {10: 25_000, 100: 10_000, 300: 4_000, 1_000: 1_500}
WARM_UP_SECONDS, SECONDS = 5.0, 5.0
LIMIT, REFUSED_EVENTS = 15, int(os.environ.get("BENCH_REFUSED", "1500"))
# The most events in a request, and the events for each.
BATCHES = {1: 10_000, 10: 20_000, 100: 20_000}
BATCH_AFTER_MS = 10
# The third retry comes after 36 minutes. Few events need the second one, after 6.
PATIENCE_SECONDS = 900
MOST_REFUSED = 20
TITLE = "Events a second to one webhook, by its receiver's answer time"
METHOD = (
    f"One worker on SQLite, one webhook, a backlog of events of 500 bytes. Arrivals in {SECONDS:g} s, after"
    f" {WARM_UP_SECONDS:g} s to warm up."
)
BATCH_TITLE = "Events to one webhook in batches"
BATCH_METHOD = (
    f"{', '.join(f'{count:,}' for count in BATCHES.values())} events of 500 bytes at once for one webhook, at"
    f" most {', '.join(map(str, BATCHES))} in a request. The receiver answers after {BATCH_AFTER_MS} ms. One"
    " worker on SQLite, from the first arrival until all are delivered."
)
LIMITED_TITLE = f"A receiver that accepts {LIMIT} requests a second"
LIMITED_METHOD = (
    f"{REFUSED_EVENTS} events at once for one webhook. The receiver answers 429 to further requests of the"
    " second, with and without Retry-After: 1. One worker on SQLite."
)


@contextmanager
def _draining(path: str, count: int, batch: int = 1) -> Iterator[tuple[str, Webhook, int]]:
    """A worker with a backlog for a webhook at this path. Yields the receiver's address and its pid too."""
    with gateway_state(), receivers() as url:
        [webhook] = make_webhooks([f"{url}/{path}"])
        if batch > 1:
            with writing():
                webhook.change(batch_events=batch)
        emit_backlog([webhook], count)
        with worker() as process:
            yield url, webhook, process.pid


def _rate(ms: int) -> float:
    """Events a second."""
    with _draining(f"after/{ms}", BACKLOGS[ms]) as (url, _, _):
        requests.get(f"{url}/arrivals/1", timeout=PATIENCE_SECONDS)
        time.sleep(WARM_UP_SECONDS + SECONDS)
        arrivals: dict[str, float] = requests.get(f"{url}/arrivals/0", timeout=10).json()
    moments = sorted(arrivals.values())
    begun = moments[0] + WARM_UP_SECONDS
    counted = sum(begun <= at < begun + SECONDS for at in moments)
    if len(moments) == BACKLOGS[ms]:
        print(f"{ms} ms: the backlog was too small")
    return counted / SECONDS


def _refusals(path: str) -> tuple[float, float, float]:
    """The part of requests that got 429 in percent, the seconds, and the events that did not arrive."""
    with _draining(path, REFUSED_EVENTS) as (url, webhook, _):
        seconds = _seconds_to_end()
        refused = int(requests.get(f"{url}/refused/", timeout=10).text)
        missing = REFUSED_EVENTS - _count(DeliveryState.DELIVERED)
        if not Webhook.get_by_id(webhook.id).active:
            print(f"{path}: the webhook was disabled")
    return 100 * refused / (REFUSED_EVENTS - missing + refused), seconds, missing


def _batched(most: int) -> tuple[float, float]:
    """Events a second, and the CPU of an event in ms."""
    count = BATCHES[most]
    with _draining(f"after/{BATCH_AFTER_MS}", count, most) as (url, _, pid):
        requests.get(f"{url}/arrivals/1", timeout=PATIENCE_SECONDS)
        cpu = cpu_seconds(pid)
        seconds = _seconds_to_end()
        cpu = cpu_seconds(pid) - cpu
        missing = count - _count(DeliveryState.DELIVERED)
        if missing:
            print(f"{most} in a request: {missing} events are missing")
        return count / seconds, 1000 * cpu / count


def _seconds_to_end() -> float:
    """How long it takes until no delivery is pending, at most PATIENCE_SECONDS."""
    started = time.monotonic()
    while _count(DeliveryState.PENDING) and time.monotonic() < started + PATIENCE_SECONDS:
        time.sleep(0.2)
    return time.monotonic() - started


def _count(state: DeliveryState) -> int:
    with reading():
        return int(Delivery.select().where(Delivery.state == state).count())


def run(rounds: int) -> Iterator[Table]:
    """Run all receivers in turns."""
    rates: dict[int, list[float]] = {ms: [] for ms in BACKLOGS}
    limited: dict[str, list[tuple[float, float, float]]] = {
        f"limit/{LIMIT}": [],
        f"limit/{LIMIT}/1": [],
    }
    for _ in range(rounds):
        for ms, found in rates.items():
            found.append(_rate(ms))
    figures = [Figure(f"after {ms} ms", "1/s", tuple(found)) for ms, found in rates.items()]
    yield Table(TITLE, METHOD, figures)
    batches: dict[int, list[tuple[float, float]]] = {most: [] for most in BATCHES}
    for _ in range(rounds):
        for most, each in batches.items():
            each.append(_batched(most))
    figures = []
    for most, each in batches.items():
        speeds, costs = zip(*each, strict=True)
        figures += [
            Figure(f"{most} in a request", "1/s", speeds),
            Figure(f"{most} in a request, CPU an event", "ms", costs),
        ]
    yield Table(BATCH_TITLE, BATCH_METHOD, figures)
    for _ in range(rounds):
        for path, measured in limited.items():
            measured.append(_refusals(path))
    yield _limited(limited)


def _limited(measured: dict[str, list[tuple[float, float, float]]]) -> Table:
    named = zip(("429 alone", "429 with Retry-After"), measured.values(), strict=True)
    table = Table(LIMITED_TITLE, LIMITED_METHOD)
    for name, rounds in named:
        refused, seconds, missing = (tuple(each) for each in zip(*rounds, strict=True))
        figures = [
            Figure(f"{name}, refused", "%", refused),
            Figure(f"{name}, until all arrived", "s", seconds),
            Figure(f"{name}, missing", "", missing),
        ]
        table.figures += figures
        table.goals += [
            Goal(f"{name}, refused in %", figures[0].value, MOST_REFUSED, at_most=True),
            Goal(f"{name}, missing events", max(missing), 0, at_most=True),
        ]
    return table
