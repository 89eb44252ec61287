"""Measures whether hostile accounts delay the events of the others.

``make bench-isolation`` runs it. Each of twenty accounts has a webhook, and events come at a steady rate.
First all accounts are healthy. Then, in the same run, two are hostile. Prints the healthy accounts' p50 and
p99 from commit to receiver, and the ratio of p99 to the healthy round. Exits with 1 if a healthy delivery is
missing, or if p99 is above twice the healthy round's plus 20 ms.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import requests

from benchmarks.backends import POSTGRESQL_AND_REDIS, SQLITE, running_backend
from benchmarks.harness import (
    KIND,
    emit,
    emit_backlog,
    gateway_state,
    make_webhooks,
    percentile,
    sleep_until,
    worker,
)
from benchmarks.load import ROOT
from models.database import writing
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from services.redeliver import redeliver_many

ACCOUNTS, HOSTILE = 20, 2
# The webhooks and redeliveries of each hostile account that has many.
MOST_WEBHOOKS, REDELIVERED = 100, 10_000
GRACE_MS = 20
SETTLE_SECONDS = 5
WARM_UP_SECONDS = 3
SECONDS = float(os.environ.get("BENCH_SECONDS", "30"))
RATES = [int(rate) for rate in os.environ.get("BENCH_RATES", "50,200").split(",")]
BACKENDS = os.environ.get("BENCH_BACKENDS", f"{SQLITE},{POSTGRESQL_AND_REDIS}").split(",")


@dataclass(frozen=True)
class Round:
    """The behaviour of the hostile accounts. They get a tenth of the events, or with ``floods`` nine tenths.

    ``receiver`` is the kind of their receivers, ``webhooks`` the number of webhooks of each account.
    """

    name: str
    receiver: str = "ok"
    floods: bool = False
    redelivers: bool = False
    webhooks: int = 1

    @property
    def is_healthy(self) -> bool:
        return self == ROUNDS[0]


ROUNDS = [
    Round("all healthy"),
    Round("hang", "hang"),
    Round("answer after 9 s", "slow"),
    Round("refuse connections", "refuse"),
    Round("get 90 % of the load", floods=True),
    Round("get 90 %, answer after 300 ms", "after/300", floods=True),
    Round("redeliver 10,000 each", redelivers=True),
    Round("100 webhooks each, 9 s", "slow", webhooks=MOST_WEBHOOKS),
    Round("200 webhooks each, 300 ms", "after/300", webhooks=2 * MOST_WEBHOOKS),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def receivers(module: str = "benchmarks.receivers") -> Iterator[str]:
    """The URL of a process with the receivers of a module."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", module, str(port)], cwd=ROOT)
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


def make_accounts(url: str, spec: Round) -> list[list[Webhook]]:
    """The webhooks of each account, the hostile accounts first."""
    closed = f"http://127.0.0.1:{free_port()}"
    base = f"{closed if spec.receiver == 'refuse' else url}/{spec.receiver}"
    hostile = make_webhooks([f"{base}/{n}" for n in range(HOSTILE)])
    healthy = make_webhooks([f"{url}/ok/{n}" for n in range(HOSTILE, ACCOUNTS)])
    more = [
        [
            Webhook.register(one.account_id, f"{one.url}-{n}", [KIND], [])
            for n in range(1, spec.webhooks)
        ]
        for one in hostile
    ]
    return [[one, *others] for one, others in zip(hostile, more, strict=True)] + [
        [one] for one in healthy
    ]


def let_fail(webhooks: list[Webhook]) -> None:
    """Write failed deliveries, for their accounts to redeliver."""
    emit_backlog(webhooks, len(webhooks) * REDELIVERED)
    with writing():
        failed = {"state": DeliveryState.FAILED, "due": False, "due_at": None}
        Delivery.update(failed).execute()


def pick(count: int, *, floods: bool) -> int:
    """The index of the account that gets the event number ``count``."""
    if not floods:
        return count % ACCOUNTS
    return count % HOSTILE if count % 10 else HOSTILE + (count // 10) % (ACCOUNTS - HOSTILE)


def run_round(backend: str, rate: int, spec: Round) -> tuple[float, float, int]:
    """The healthy accounts' p50 and p99 from commit to receiver in ms, and the number of missing events."""
    sent: dict[str, float] = {}
    with (
        running_backend(backend) as state,
        gateway_state(**state.settings),
        receivers() as url,
    ):
        accounts = make_accounts(url, spec)
        hostile = [webhooks[0] for webhooks in accounts[:HOSTILE]]
        if spec.redelivers:
            let_fail(hostile)
        with worker():
            time.sleep(WARM_UP_SECONDS)
            if spec.redelivers:
                for webhook in hostile:
                    redeliver_many(webhook)
            started = time.monotonic()
            for count in range(int(rate * SECONDS)):
                sleep_until(started + count / rate)
                index = pick(count, floods=spec.floods)
                name = f"msg_bench_{count}"
                emit(accounts[index], name)
                if spec.is_healthy or index >= HOSTILE:
                    sent[name] = time.time()
            time.sleep(SETTLE_SECONDS)
            arrived = requests.get(f"{url}/arrivals/0", timeout=10).json()
    lags = [max(0.0, (arrived[name] - at) * 1000) for name, at in sent.items() if name in arrived]
    return percentile(lags, 0.5), percentile(lags, 0.99), len(sent) - len(lags)


def main() -> int:
    """Run all rounds. Returns the exit status."""
    failed = False
    print(f"{'round':<30} {'p50 ms':>7} {'p99 ms':>7} {'ratio':>6} {'missing':>8}")
    for backend in BACKENDS:
        for rate in RATES:
            print(f"{backend}, {rate} events a second:", flush=True)
            healthy = 0.0
            for spec in ROUNDS:
                p50, p99, missing = run_round(backend, rate, spec)
                healthy = healthy or p99
                is_bad = missing > 0 or p99 > 2 * healthy + GRACE_MS
                failed = failed or is_bad
                print(
                    f"{spec.name:<30} {p50:>7.1f} {p99:>7.1f} {p99 / healthy:>6.2f} {missing:>8}"
                    f"{'  FAILED' if is_bad else ''}",
                    flush=True,
                )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
