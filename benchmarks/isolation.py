"""Do some customers' receivers delay the others' events?

``make bench-isolation`` runs it.

Twenty webhooks get events at a steady rate. First all are healthy; then, in the same run, two of them
misbehave (10 % of the events), or one gets 90 % of the events. Prints p50 and p99 from commit to
receiver of the healthy ones, and their ratio to the healthy round. Exits with 1 when a healthy delivery
is missing or p99 is above twice the healthy round's plus 20 ms.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests

from benchmarks.harness import (
    emit,
    gateway_state,
    make_webhooks,
    percentile,
    sleep_until,
    worker,
)

WEBHOOKS = 20
GRACE_MS = 20
SETTLE_SECONDS = 5
WARM_UP_SECONDS = 3
SECONDS = float(os.environ.get("BENCH_SECONDS", "30"))
RATES = [int(rate) for rate in os.environ.get("BENCH_RATES", "50,200").split(",")]


@dataclass(frozen=True)
class Round:
    """``bad`` receivers of this kind among the twenty; ``flood`` gives the first one 90 % of the events."""

    name: str
    bad: str = "ok"
    flood: bool = False


ROUNDS = [
    Round("all healthy"),
    Round("2 hang", "hang"),
    Round("2 answer after 9 s", "slow"),
    Round("2 refuse the connection", "refuse"),
    Round("1 gets 90 %", flood=True),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def receivers() -> Iterator[str]:
    port = free_port()
    script = Path(__file__).with_name("receivers.py")
    process = subprocess.Popen([sys.executable, str(script), str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                requests.get(f"{url}/arrivals/0", timeout=1)
                break
            except requests.ConnectionError:
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


def addresses(url: str, bad: str) -> list[str]:
    closed = f"http://127.0.0.1:{free_port()}"
    first = [f"{closed if bad == 'refuse' else url}/{bad}/{n}" for n in range(2)]
    return first + [f"{url}/ok/{n}" for n in range(2, WEBHOOKS)]


def pick(count: int, *, flood: bool) -> int:
    """Which webhook gets the event number ``count``."""
    if not flood:
        return count % WEBHOOKS
    return 0 if count % 10 else 1 + (count // 10) % (WEBHOOKS - 1)


def run_round(rate: int, spec: Round) -> tuple[float, float, int]:
    """p50 and p99 in ms from commit to receiver of the healthy webhooks, and how many are missing."""
    sent: dict[str, float] = {}
    with gateway_state(), receivers() as url, worker():
        webhooks = make_webhooks(addresses(url, spec.bad))
        healthy = set(range(WEBHOOKS)) if spec.bad == "ok" else set(range(2, WEBHOOKS))
        if spec.flood:
            healthy.discard(0)
        time.sleep(WARM_UP_SECONDS)
        started = time.monotonic()
        for count in range(int(rate * SECONDS)):
            sleep_until(started + count / rate)
            index = pick(count, flood=spec.flood)
            name = f"msg_{count}"
            emit(webhooks[index], name)
            if index in healthy:
                sent[name] = time.time()
        time.sleep(SETTLE_SECONDS)
        arrived = requests.get(f"{url}/arrivals/0", timeout=10).json()
    lags = [max(0.0, (arrived[name] - at) * 1000) for name, at in sent.items() if name in arrived]
    return percentile(lags, 0.5), percentile(lags, 0.99), len(sent) - len(lags)


def main() -> int:
    """Run all rounds. Returns the exit status."""
    failed = False
    print(f"{'events/s':>8}  {'round':<24} {'p50 ms':>7} {'p99 ms':>7} {'ratio':>6} {'missing':>8}")
    for rate in RATES:
        bound = 0.0
        baseline = 0.0
        for spec in ROUNDS:
            p50, p99, missing = run_round(rate, spec)
            if not baseline:
                baseline, bound = p99, 2 * p99 + GRACE_MS
            bad = missing > 0 or p99 > bound
            failed = failed or bad
            print(
                f"{rate:>8}  {spec.name:<24} {p50:>7.1f} {p99:>7.1f} {p99 / baseline:>6.2f} {missing:>8}"
                f"{'  FAILED' if bad else ''}",
                flush=True,
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
