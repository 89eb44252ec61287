"""Measures POST /messages/send in one web process, a bare Connexion, and FastAPI with the same steps."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.load import Load, load_of_sends
from benchmarks.report import Goal, Table
from benchmarks.services import Parts, Server, parts, peer
from benchmarks.turns import (
    Rounds,
    at_share,
    costs,
    drive_in_turns,
    latencies,
    more_rounds,
    rates,
)
from contract_tests.servers import RedisServer
from contract_tests.service import Customer

SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
OURS, BARE, FASTAPI = "ours", "bare Connexion FlaskApp", "FastAPI + SQLAlchemy + Celery"
BARE_ASYNC = "bare Connexion AsyncApp"
LATENCY_MS, SLOW_CONNECTIONS = 300, 512
SLOW_WARM_UP = 4
SLOW = f"ours, {LATENCY_MS} ms of the network, {SLOW_CONNECTIONS} connections"
# Nothing listens there: no worker runs.
RECEIVER = "http://127.0.0.1:9/events"
PATH = "/api/messages/send"
METHOD = (
    "One web process each, on SQLite (WAL, NORMAL): 16 kept connections in a closed loop, each request with"
    " a fresh recipient and Idempotency-Key, every response checked. Next to it ran the load generator and"
    " one sandbox without latency that sends no statuses; no worker, ours or Celery's, so deliveries wait in"
    " their queues. Latency: more rounds, of half the length; requests due at half of the contender's own"
    " rate, evenly spaced, counted from the time when they were due. Ours logs each request to a file; the"
    " others log nothing. The bare Connexion validates the same four fields and returns a constant: no key,"
    " no rate limit, no database."
)
SLOW_METHOD = (
    f"One web process at its default settings and a sandbox that responds after {LATENCY_MS} ms;"
    f" {SLOW_CONNECTIONS} kept connections in a closed loop."
)


def run(rounds: int) -> list[Table]:
    """The tables of sends with and without latency of the network."""
    with tempfile.TemporaryDirectory() as folder:
        with _contenders(Path(folder)) as loads:
            full = drive_in_turns(rounds, loads)
            paced = at_share(0.5, full, loads)
            shorter = {name: replace(load, seconds=SECONDS / 2) for name, load in paced.items()}
            calm = drive_in_turns(more_rounds(rounds), shorter)
        slow = _drive_slowly(rounds, Path(folder) / "slow")
    return [_rate_table(full), _latency_table(calm), _slow_table(slow)]


def _rate_table(full: Rounds) -> Table:
    figures = rates(full)
    rate = {figure.name: figure.value for figure in figures}
    goals = [
        Goal(f"ours to {BARE}", rate[OURS] / rate[BARE], 0.65),
        Goal(f"ours to {BARE_ASYNC}", rate[OURS] / rate[BARE_ASYNC], 0),
        Goal(f"ours to {FASTAPI}", rate[OURS] / rate[FASTAPI], 1),
    ]
    return Table("Sends a second", METHOD, [*figures, *costs(full)], goals)


def _latency_table(calm: Rounds) -> Table:
    figures = latencies(calm)
    latency = {figure.name: figure.value for figure in figures}
    ratio = latency[f"{OURS}, p99"] / latency[f"{OURS}, p50"]
    goals = [Goal("ours, p99 to p50", ratio, 5, at_most=True)]
    return Table("Latency of a send at half of that rate", METHOD, figures, goals)


def _slow_table(slow: Rounds) -> Table:
    figures = rates(slow)
    goals = [Goal("ours", figures[0].value, 200)]
    return Table("Sends a second to a slow network", SLOW_METHOD, [*figures, *costs(slow)], goals)


def _drive_slowly(rounds: int, folder: Path) -> Rounds:
    with parts(folder, "sandbox", "web") as gateway:
        gateway.behave(latency_ms=LATENCY_MS, no_status=1)
        customer = make_customer(gateway)
        load = make_load(gateway.web, str(customer.number["id"]), customer.key)
        slow = replace(load, connections=SLOW_CONNECTIONS, warm_up=SLOW_WARM_UP)
        return drive_in_turns(rounds, {SLOW: slow})


@contextmanager
def _contenders(folder: Path) -> Iterator[dict[str, Load]]:
    """All servers. They run in all rounds, and are idle without load."""
    with ExitStack() as stack:
        gateway = stack.enter_context(parts(folder / "ours", "sandbox", "web"))
        gateway.behave(latency_ms=0, no_status=1)
        customer = make_customer(gateway)
        number_id, key = str(customer.number["id"]), customer.key
        bare = stack.enter_context(peer(folder / "bare", "bare_connexion"))
        bare_async = stack.enter_context(peer(folder / "bare_async", "bare_async"))
        broker = stack.enter_context(RedisServer())
        fastapi = stack.enter_context(
            peer(
                folder / "fastapi",
                "fastapi_celery",
                **_environment_of_peer(gateway, number_id, key),
                DATABASE=str(folder / "fastapi.db"),
                BROKER_URL=broker.url(0),
            )
        )
        servers = {OURS: gateway.web, BARE: bare, BARE_ASYNC: bare_async, FASTAPI: fastapi}
        yield {name: make_load(server, number_id, key) for name, server in servers.items()}


def make_customer(gateway: Parts) -> Customer:
    """An account with a number, and a webhook that subscribes to message.sent."""
    customer = gateway.customer()
    webhook = {"url": RECEIVER, "events": ["message.sent"]}
    customer.request("POST", "/webhooks", json=webhook).raise_for_status()
    return customer


def _environment_of_peer(gateway: Parts, number_id: str, key: str) -> dict[str, str]:
    sender = gateway.sender()
    return {
        "API_KEY": key,
        "NUMBER_ID": number_id,
        "PHONE_NUMBER_ID": sender.phone_number_id,
        "ACCESS_TOKEN": sender.access_token,
        "NETWORK_URL": f"{gateway.sandbox}/v25.0",
    }


def make_load(server: Server, number_id: str, key: str) -> Load:
    load = load_of_sends(server.url + PATH, number_id, key)
    return replace(load, seconds=SECONDS, pid=server.pid)
