"""What an operator sees of the running service: /readyz and the metrics of web and worker."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from contract_tests.harness import Gateway, Receiver, free_port, running, wait_for

# A timer of keepalive in /proc/net/tcp.
KEEPALIVE_TIMER = "02:"


class Watched:
    """A running service and the address of its worker's metrics."""

    def __init__(self, gateway: Gateway, worker_at: str) -> None:
        self.gateway = gateway
        self.worker_at = worker_at

    def web(self, sample: str) -> float:
        """A value from the web's metrics."""
        return _sample(f"{self.gateway.url}/metrics", sample)

    def worker(self, sample: str) -> float:
        """A value from the worker's metrics."""
        return _sample(f"http://{self.worker_at}/metrics", sample)


def _sample(url: str, sample: str) -> float:
    answer = requests.get(url, timeout=9)
    assert answer.headers["Content-Type"].startswith("text/plain")
    found = re.search(rf"^gateway_{re.escape(sample)} (\S+)$", answer.text, re.MULTILINE)
    assert found is not None, answer.text
    return float(found[1])


def _ready(gateway: Gateway) -> Any:
    answer = requests.get(f"{gateway.url}/readyz", timeout=9)
    assert answer.status_code == 200
    return answer.json()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The service with all monitoring enabled."""
    folder: Path = tmp_path_factory.mktemp("watched")
    worker_at = f"127.0.0.1:{free_port()}"
    with running(
        folder,
        GATEWAY_WORKER_METRICS_AT=worker_at,
        GATEWAY_RETRY_SCHEDULE="0.2",
        GATEWAY_PLAN_LIMITS="starter=1,pro=1000000,anonymous=1000000",
    ) as gateway:
        yield Watched(gateway, worker_at)


def test_the_whole_service_is_ready_once_its_worker_is_seen(watched: Watched) -> None:
    body = wait_for(
        lambda: (seen := _ready(watched.gateway))["status"] == "ok" and seen,
        "a service that is ready",
    )
    assert set(body["parts"]) == {"database", "queue", "worker", "machines", "deliveries"}


def test_a_message_is_counted_on_its_whole_way(watched: Watched, receiver: Receiver) -> None:
    customer = watched.gateway.customer()
    hook = {"url": receiver.url(), "events": ["message.sent"]}
    assert customer.request("POST", "/webhooks", json=hook).status_code == 201
    assert customer.send("15550100001").status_code == 400
    assert customer.send("15557770123").status_code == 200
    receiver.wait_kind("message.sent")
    receiver.status = 500
    assert customer.send("15557770123").status_code == 200
    wait_for(lambda: watched.worker('deliveries_total{outcome="given_up"}') == 1, "giving up")
    assert watched.worker('deliveries_total{outcome="delivered"}') == 1
    assert watched.worker('attempt_duration_seconds_count{outcome="success"}') == 1
    assert watched.worker('attempt_duration_seconds_count{outcome="refused"}') == 2
    assert watched.worker("delivery_lag_seconds_count") == 2
    assert watched.web('sends_total{outcome="accepted"}') == 2
    assert watched.web('sends_total{outcome="refused"}') == 1
    wait_for(lambda: watched.web('callbacks_total{outcome="accepted"}') > 0, "a callback")
    assert watched.web('requests_total{status="200"}') >= 2
    wait_for(lambda: watched.web("deliveries_pending") == 0, "an empty backlog")


def test_a_forged_callback_is_counted(watched: Watched) -> None:
    url = f"{watched.gateway.url}/network/callback"
    assert requests.post(url, data=b"{}", timeout=9).status_code == 401
    assert watched.web('callbacks_total{outcome="forged"}') == 1


def test_requests_past_their_limit_are_counted(watched: Watched) -> None:
    customer = watched.gateway.customer("starter", with_number=False)
    statuses = [customer.request("GET", "/numbers").status_code for _ in range(3)]
    assert statuses == [200, 429, 429]
    assert watched.web("rate_limited_total") == 2


def test_a_client_of_the_worker_metrics_that_vanishes_is_forgotten(watched: Watched) -> None:
    """The kernel probes the connection, because it has a timer for it."""
    host, port = watched.worker_at.split(":")
    with socket.create_connection((host, int(port))) as client:
        ours = client.getsockname()[1]
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    of_worker = f":{int(port):04X}", f":{ours:04X}"
    [timer] = [row[5] for row in rows if (row[1][-5:], row[2][-5:]) == of_worker]
    assert timer.startswith(KEEPALIVE_TIMER)


def test_a_metrics_port_in_use_stops_the_worker_with_one_line(watched: Watched) -> None:
    second = {**watched.gateway.environment, "GATEWAY_WORKER_METRICS_AT": watched.worker_at}
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "worker"],
        env=second,
        cwd=watched.gateway.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "GATEWAY_WORKER_METRICS_AT cannot be used" in line
