"""Measures the sandbox itself, without a gateway: it is the network of the other benchmarks."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import requests

from benchmarks.isolation import receivers
from benchmarks.load import FRESH, Load
from benchmarks.report import Figure, Goal, Table
from benchmarks.services import Parts, Server, parts
from benchmarks.turns import costs, drive_in_turns, latencies, rates
from contract_tests.waiting import WAIT_SECONDS
from networks.interface import Sender

SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
WARM_UP = 2
LATENCY_MS, BATCH_SIZE, CONNECTIONS, RATE = 100, 100, 400, 1000
# The network should add little to its own latency, and its statuses should not fall behind by a second.
STATUSES = 3
MAX_P99_MS, MAX_PENDING = 2 * LATENCY_MS, STATUSES * RATE
FULL, PACED = "closed loop", f"{RATE} a second"
METHOD = (
    f"Texts to new people over {CONNECTIONS} kept connections. The sandbox responds after {LATENCY_MS} ms and"
    f" sends {STATUSES} statuses for each message, up to {BATCH_SIZE} in a callback. The receiver responds at"
    " once. Load generator and receiver run next to it. The latency is that of evenly spaced requests, from"
    " the time when they were due."
)


def run(rounds: int) -> Iterator[Table]:
    """The table of the sandbox."""
    with tempfile.TemporaryDirectory() as folder, _network(Path(folder)) as (gateway, load):
        full = drive_in_turns(rounds, {FULL: load})
        paced = drive_in_turns(rounds, {PACED: replace(load, rate=RATE)})
        state = _state(gateway)
    pending = Figure("statuses pending at the end", "", (state["owed"]["statuses"],))
    statuses = STATUSES * state["sends"]["accepted"] - pending.value
    # Without a subscription no callback is sent, and the division fails.
    batch = Figure("statuses in a callback", "", (statuses / state["callbacks"]["delivered"],))
    (rate,), (_, p99) = rates(full), latencies(paced)
    goals = [
        Goal(rate.name, rate.value, RATE),
        Goal(p99.name, p99.value, MAX_P99_MS, at_most=True),
        Goal(pending.name, pending.value, MAX_PENDING, at_most=True),
    ]
    figures = [rate, *costs(full), *latencies(paced), *costs(paced), batch, pending]
    yield Table("The sandbox", METHOD, figures, goals)


@contextmanager
def _network(folder: Path) -> Iterator[tuple[Parts, Load]]:
    """A sandbox whose callbacks go to a receiver. The web process only verifies the first address."""
    with parts(folder, "sandbox", "web") as gateway, receivers() as receiver:
        waba_id = gateway.business_account_of(gateway.customer())
        gateway.sandbox_call(f"wabas/{waba_id}/subscription", override_url=f"{receiver}/ok/0")
        gateway.behave(latency_ms=LATENCY_MS, batch_size=BATCH_SIZE)
        sandbox = Server(gateway.sandbox, gateway.processes["sandbox"].pid)
        yield gateway, _load(sandbox, gateway.sender(waba_id=waba_id))


def _load(sandbox: Server, sender: Sender) -> Load:
    body = {
        "messaging_product": "whatsapp",
        "to": FRESH,
        "type": "text",
        "text": {"body": "Your order was shipped."},
    }
    headers = {
        "Authorization": f"Bearer {sender.access_token}",
        "Content-Type": "application/json",
    }
    url = f"{sandbox.url}/v25.0/{sender.phone_number_id}/messages"
    return Load(url, headers, json.dumps(body), CONNECTIONS, SECONDS, WARM_UP, pid=sandbox.pid)


def _state(gateway: Parts) -> Any:
    return requests.get(f"{gateway.sandbox}/_sandbox/state", timeout=WAIT_SECONDS).json()
