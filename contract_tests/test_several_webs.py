"""Four web processes on one machine, with PostgreSQL and Redis, are as exact as one."""

import json
import os
import queue
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from contract_tests.account_load import check, load_of
from contract_tests.collector import Collector, collecting
from contract_tests.harness import START_SECONDS, WAIT_SECONDS, Customer, wait_for
from contract_tests.lanes import Lane, Lanes
from contract_tests.parts import Parts, deployed
from contract_tests.servers import PostgresServer, RedisServer

PROCESSES = 4
TOO_MANY = 429
CONNECTIONS = 5
REPEATS = 20
# Neither server checks it. It exists so that tests can look for it.
PASSWORD = "quagga-password"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """The collector of the processes' spans."""
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[Parts]:
    """A service with four web processes."""
    with PostgresServer() as postgres, RedisServer() as redis:
        in_redis = redis.url(0).replace("//", f"//:{PASSWORD}@")
        settings = {
            "DATABASE_URL": postgres.database("webs").replace("@", f":{PASSWORD}@"),
            "QUEUE_URL": in_redis,
            "RATE_LIMIT_URL": in_redis,
            "WORKERS": str(PROCESSES),
        }
        named = {f"GATEWAY_{name}": value for name, value in settings.items()}
        folder: Path = tmp_path_factory.mktemp("webs")
        with deployed(folder, **named, **collector.settings()) as parts:
            yield parts


# The accounts are created before the connections, which soon time out.
@pytest.fixture(scope="module")
def starter(parts: Parts) -> Customer:
    """An account with the plan Starter."""
    return parts.customer("starter")


@pytest.fixture(scope="module")
def sender(parts: Parts) -> Customer:
    """An account with a number."""
    return parts.customer()


@pytest.fixture
def lanes(parts: Parts) -> Iterator[Lanes]:
    """The same number of connections to each process."""
    with Lanes(parts.url, PROCESSES, CONNECTIONS) as lanes:
        yield lanes


def _at_once(
    lanes: Lanes, asks: Sequence[Callable[[Lane], requests.Response]]
) -> list[tuple[int, requests.Response]]:
    """Send the requests over all connections at the same time. Responses come with the process id."""
    free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
    for lane in lanes.all():
        free.put(lane)

    def over_any(ask: Callable[[Lane], requests.Response]) -> tuple[int, requests.Response]:
        lane = free.get()
        try:
            return lane.pid, ask(lane)
        finally:
            free.put(lane)

    with ThreadPoolExecutor(len(lanes.all())) as pool:
        return list(pool.map(over_any, asks))


def _counted(parts: Parts, lane: requests.Session) -> Counter[str]:
    """The responses of all processes by status, from the metrics of one."""
    text = lane.get(f"{parts.url}/metrics", timeout=WAIT_SECONDS).text
    return Counter(
        {
            sample.labels["status"]: int(sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "gateway_requests_total"
        }
    )


def test_all_processes_share_the_rate_limit_of_an_account(
    parts: Parts, starter: Customer, lanes: Lanes
) -> None:
    load = load_of(parts, starter)
    counted = _counted(parts, lanes.all()[0])
    answers = _at_once(lanes, [ask for _, ask in load.asks])
    check(load, [(what, answer) for (what, _), (_, answer) in zip(load.asks, answers, strict=True)])
    api = [
        answer for (what, _), (_, answer) in zip(load.asks, answers, strict=True) if what == "key"
    ]
    remaining = [int(answer.headers["X-RateLimit-Remaining"]) for answer in api if answer.ok]
    assert len(set(remaining)) == len(remaining)
    assert {pid for pid, answer in answers if answer.status_code != TOO_MANY} == set(lanes.of)
    # Each process reports the responses of all. Callbacks of the sandbox get 200, too.
    refused = sum(answer.status_code == TOO_MANY for _, answer in answers)
    seen = [_counted(parts, lane) - counted for [lane, *_] in lanes.of.values()]
    assert [each[str(TOO_MANY)] for each in seen] == [refused] * PROCESSES


def test_all_processes_send_once_for_one_key(parts: Parts, sender: Customer, lanes: Lanes) -> None:
    body = {
        "number_id": sender.number["id"],
        "to": "15556660001",
        "type": "text",
        "text": {"body": "Once"},
    }
    headers = {"Authorization": f"Bearer {sender.key}", "Idempotency-Key": "once"}

    def send(lane: Lane) -> requests.Response:
        url = f"{parts.api}/messages/send"
        return lane.post(url, json=body, headers=headers, timeout=WAIT_SECONDS)

    answers = _at_once(lanes, [send] * REPEATS)
    assert {answer.status_code for _, answer in answers} <= {200, 409}
    assert len({answer.json()["id"] for _, answer in answers if answer.ok}) == 1
    repeated = [send(lane) for lane in lanes.all()]
    assert {a.headers.get("Idempotency-Replayed") for a in repeated} == {"true"}
    assert [message["to"] for message in parts.accepted()].count("15556660001") == 1


def test_each_process_logs_and_traces_its_requests(
    parts: Parts, lanes: Lanes, collector: Collector
) -> None:
    for pid, [lane, *_] in lanes.of.items():
        named = {"X-Request-Id": f"errand-{pid}"}
        assert lane.get(f"{parts.api}/openapi.yaml", headers=named, timeout=WAIT_SECONDS).ok
    errands = {f"errand-{pid}" for pid in lanes.of}
    wait_for(lambda: errands <= _logged(parts), "a line of each request")
    for errand in errands:
        collector.wait("GET /api/openapi.yaml", gateway__request_id=errand)


def _logged(parts: Parts) -> set[str]:
    lines = [json.loads(line) for line in parts.log().splitlines() if line.startswith("{")]
    return {line["request_id"] for line in lines if line["message"] == "request"}


def test_a_killed_process_is_restarted_and_its_counts_are_kept(
    parts: Parts,
) -> None:
    with Lanes(parts.url, PROCESSES) as lanes:
        killed, *others = lanes.of
        counted = _counted(parts, lanes.all()[0])
    os.kill(killed, signal.SIGKILL)

    def is_replaced() -> bool:
        try:
            with Lanes(parts.url, PROCESSES, seconds=START_SECONDS) as now:
                return killed not in now.of and set(others) <= now.of.keys()
        except requests.ConnectionError:  # The killed process had the connection.
            return False

    wait_for(is_replaced, "another process", START_SECONDS)
    assert _counted(parts, requests.Session()) == counted


def test_no_server_password_is_logged_and_all_processes_stop_at_once(parts: Parts) -> None:
    with Lanes(parts.url, PROCESSES) as lanes:
        pids = set(lanes.of)
    assert parts.process is not None
    parts.process.terminate()
    assert parts.process.wait(WAIT_SECONDS) == 0
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert "Traceback" not in parts.log()
    assert PASSWORD not in parts.log()
