"""Measures signed callbacks, which are ingested before the response, against a bare FlaskApp."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests

from benchmarks.isolation import receivers
from benchmarks.load import FRESH, Load
from benchmarks.report import Figure, Goal, Table
from benchmarks.services import Parts, parts, peer
from benchmarks.turns import Rounds, at_share, costs, drive_in_turns, latencies, rates
from contract_tests.callbacks.platform import entry, messages
from gateway.settings import Settings

SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
OURS, BARE = "ours", "bare Connexion FlaskApp"
PATIENCE_SECONDS = 60
# A share of the rate without a worker. At half of it, web and worker together need more than two cores:
# every callback then waits, and p99 is close to p50 only because p50 is bad.
SHARE = 0.25
MIN_DELIVERED = 20
PATH = "/network/callback"
METHOD = (
    "POST /network/callback with one inbound message each, signed, through one web process each: 16 kept"
    " connections in a closed loop, every response checked. Ours checks the signature, commits the message,"
    " its event and a delivery to SQLite (WAL, NORMAL) in a batch with concurrent ones, enqueues a wake-up,"
    " logs a line to a file, and responds."
    " The bare FlaskApp has a plain route that reads the raw body and returns a constant."
)
BUSY_METHOD = (
    "The same callbacks at a quarter of that rate, evenly spaced. Latency counts from the due time."
    " Meanwhile one worker delivers the events of the table above to a receiver as fast as it can."
)


def run(rounds: int) -> list[Table]:
    """The tables of callbacks without a worker, and with one that delivers."""
    with tempfile.TemporaryDirectory() as folder, receivers() as receiver:
        with _contenders(Path(folder), receiver) as (gateway, loads):
            full = drive_in_turns(rounds, loads)
            busy = at_share(SHARE, full, {OURS: loads[OURS]})
            gateway.begin("worker")
            before, began = _arrivals(receiver), time.monotonic()
            calm = drive_in_turns(rounds, busy)
            arrived = _arrivals(receiver) - before
            delivered = arrived / (time.monotonic() - began)
        return [_rate_table(full), _latency_table(calm, delivered)]


def _arrivals(receiver: str) -> int:
    """The number of events that have arrived, once there is one: the worker takes a while to start."""
    answer = requests.get(f"{receiver}/arrivals/1", timeout=PATIENCE_SECONDS)
    return len(answer.json())


def _rate_table(full: Rounds) -> Table:
    figures = rates(full)
    rate = {figure.name: figure.value for figure in figures}
    goals = [Goal(f"ours to {BARE}", rate[OURS] / rate[BARE], 0.5)]
    return Table("Callbacks a second", METHOD, [*figures, *costs(full)], goals)


def _latency_table(calm: Rounds, delivered: float) -> Table:
    p50, p99 = latencies(calm)
    meanwhile = Figure("events delivered meanwhile", "1/s", (delivered,))
    goals = [
        Goal("ours, p99 to p50", p99.value / p50.value, 10, at_most=True),
        # Without deliveries, the latency above would not be that of a busy gateway.
        Goal("events delivered meanwhile", delivered, MIN_DELIVERED),
    ]
    return Table(
        "Latency of a callback while deliveries run", BUSY_METHOD, [p50, p99, meanwhile], goals
    )


@contextmanager
def _contenders(folder: Path, receiver: str) -> Iterator[tuple[Parts, dict[str, Load]]]:
    with ExitStack() as stack:
        gateway = stack.enter_context(parts(folder / "ours", "sandbox", "web"))
        customer = gateway.customer()
        webhook = {"url": f"{receiver}/ok/0", "events": ["message.received"]}
        customer.request("POST", "/webhooks", json=webhook).raise_for_status()
        bare = stack.enter_context(peer(folder / "bare", "bare_connexion"))
        body = json.dumps(make_callback(gateway.number_id_of(customer)))
        secret = Settings().network_app_secret.get_secret_value()
        headers = {"Content-Type": "application/json"}
        servers = {OURS: gateway.web, BARE: bare}
        yield (
            gateway,
            {
                name: Load(
                    server.url + PATH,
                    headers,
                    body,
                    seconds=SECONDS,
                    app_secret=secret,
                    pid=server.pid,
                )
                for name, server in servers.items()
            },
        )


def make_callback(phone_number_id: str) -> dict[str, object]:
    """An inbound message from a new person. Each number has a business account of its own."""
    contact = {"profile": {"name": "Ada"}, "wa_id": FRESH}
    message = {
        "from": FRESH,
        "id": f"wamid.HBgL{FRESH}FQIAEhgg",
        # An old message would be set aside.
        "timestamp": str(int(time.time())),
        "type": "text",
        "text": {"body": "Where is my order? It was to arrive last week."},
    }
    change = messages(phone_number_id, contacts=[contact], messages=[message])
    return {"object": "whatsapp_business_account", "entry": [entry(phone_number_id, change)]}
