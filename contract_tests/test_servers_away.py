"""Web and worker start during an outage of PostgreSQL or Redis, log it, and continue when it ends."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from contract_tests.harness import START_SECONDS, WAIT_SECONDS, Customer, Receiver, wait_for
from contract_tests.parts import Parts
from contract_tests.servers import PostgresServer, RedisServer

AWAY = "started while a server is away"
# Both retry at least twice a second, and the machine may be busy.
BACK_SECONDS = 5


@dataclass(frozen=True)
class Service:
    """Running servers, and processes that are not started yet except for the sandbox."""

    postgres: PostgresServer
    redis: RedisServer
    parts: Parts
    customer: Customer

    def start(self) -> None:
        """Start web and worker, and wait until web answers."""
        self.parts.start_web()
        self.parts.start_worker()
        wait_for(self._answers, "a web process that answers", START_SECONDS)
        wait_for(lambda: len(self.told()) == 2, "a line of each", START_SECONDS)

    def told(self) -> list[str]:
        """The log lines of both about a server at their start."""
        return [line for line in self.parts.log().splitlines() if AWAY in line]

    def ready(self) -> tuple[int, dict[str, Any]]:
        """The body of /readyz."""
        answer = requests.get(f"{self.parts.url}/readyz", timeout=WAIT_SECONDS)
        return answer.status_code, answer.json()

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.parts.url}/healthz", timeout=WAIT_SECONDS).ok
        except requests.ConnectionError:
            return False


@pytest.fixture
def service(
    tmp_path: Path, receiver: Receiver, request: pytest.FixtureRequest
) -> Iterator[Service]:
    """With a customer whose webhook is the receiver. The test's parameter is the settings."""
    with ExitStack() as stack:
        postgres = stack.enter_context(PostgresServer())
        redis = stack.enter_context(RedisServer())
        urls = {"database": postgres.database("away"), "redis": redis.url(0), "memory": "memory"}
        database, queue, limits = (urls[name] for name in request.param)
        named = {"DATABASE_URL": database, "QUEUE_URL": queue, "RATE_LIMIT_URL": limits}
        parts = Parts(tmp_path, **{f"GATEWAY_{name}": url for name, url in named.items()})
        stack.callback(parts.stop)
        parts.start()
        customer = parts.customer()
        hook = {"url": receiver.url(), "events": ["message.read"]}
        assert customer.request("POST", "/webhooks", json=hook).status_code == 201
        assert parts.process is not None
        parts.process.terminate()
        parts.process.wait(START_SECONDS)
        yield Service(postgres, redis, parts, customer)


@pytest.mark.parametrize("service", [("database", "database", "memory")], indirect=True)
def test_a_start_without_postgresql_waits_until_it_is_available(
    service: Service, receiver: Receiver
) -> None:
    service.postgres.stop()
    service.start()
    assert all("GATEWAY_DATABASE_URL" in line and "refused" in line for line in service.told())
    status, body = service.ready()
    assert (status, body["status"], body["parts"]["database"]["status"]) == (
        503,
        *["unavailable"] * 2,
    )
    assert "GATEWAY_DATABASE_URL" in body["parts"]["database"]["hint"]
    assert service.customer.send("15580000001").status_code == 500
    service.postgres.start()
    wait_for(lambda: service.ready()[1]["status"] == "ok", "a service that is ready", BACK_SECONDS)
    assert service.customer.send("15580000002").ok
    wait_for(receiver.at, "an event", BACK_SECONDS)
    wait_for(lambda: _is_locked(service.postgres), "a single web process", BACK_SECONDS)
    assert len(service.told()) == 2


def _is_locked(server: PostgresServer) -> bool:
    with psycopg.connect(server.url("away")) as connection:
        [free] = connection.execute("SELECT pg_try_advisory_xact_lock(20977, 3)").fetchall()[0]
        return not free


@pytest.mark.parametrize("service", [("database", "redis", "redis")], indirect=True)
def test_a_start_without_redis_serves_and_delivers(service: Service, receiver: Receiver) -> None:
    service.redis.stop()
    service.start()
    assert all("GATEWAY_QUEUE_URL" in line and "refused" in line for line in service.told())
    wait_for(lambda: service.ready()[1]["parts"]["worker"]["status"] == "ok", "a worker")
    status, body = service.ready()
    assert (status, body["status"], body["parts"]["queue"]["status"]) == (200, *["degraded"] * 2)
    assert service.customer.send("15580000001").ok
    wait_for(receiver.at, "an event without a queue")
    service.redis.start()
    wait_for(lambda: service.ready()[1]["status"] == "ok", "a queue", BACK_SECONDS)
    assert service.customer.send("15580000002").ok
    wait_for(lambda: len(receiver.at()) == 2, "an event")


@pytest.mark.parametrize("service", [("database", "redis", "redis")], indirect=True)
def test_a_wrong_address_still_stops_a_start(service: Service) -> None:
    right = service.postgres.url("away")
    for part in ("web", "worker"):
        service.parts.environment["GATEWAY_DATABASE_URL"] = right.replace("/away", "/nowhere")
        refused = service.parts.launch(part)
        assert refused.wait(START_SECONDS) == 1
    lines = service.parts.log().splitlines()[-2:]
    assert all(line.startswith("Error: GATEWAY_DATABASE_URL ") for line in lines)
    assert all('"nowhere" does not exist' in line for line in lines)
