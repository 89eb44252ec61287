"""The benchmarks that load a web process run once: small, on SQLite, and without the other software.

They share one service, to which each adds its customer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import broadcasts, callbacks, life, processes, quota, sending, webhook_servers
from benchmarks.backends import SQLITE, Backend
from benchmarks.isolation import receivers
from benchmarks.load import drive
from benchmarks.services import Parts, Server, parts
from contract_tests.harness import Receiver
from contract_tests.servers import RedisServer

pytestmark = pytest.mark.sqlite("the benchmarks choose their backends themselves")

SECONDS = 0.5
# Requests a second. With a rate, responses after the end count too, as on a busy machine.
RATE = 40


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """Sandbox and web, and the parts that a benchmark adds."""
    folder = tmp_path_factory.mktemp("measured")
    # Two web processes share their rate limits.
    with (
        RedisServer() as redis,
        parts(folder, "sandbox", "web", GATEWAY_RATE_LIMIT_URL=redis.url(0)) as gateway,
    ):
        yield gateway


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, shared: Parts) -> None:
    """Let each benchmark use the shared service, for a short time."""

    @contextmanager
    def of_shared(_: Path, *names: str, **settings: str) -> Iterator[Parts]:
        if names == ("web",):
            url = {"GATEWAY_RATE_LIMIT_URL": shared.environment["GATEWAY_RATE_LIMIT_URL"]}
            with parts(shared.folder, *names, **settings, **url) as another:
                yield another
            return
        for name in set(names) - set(shared.processes):
            shared.begin(name)
        yield shared

    shared.behave(latency_ms=0, no_status=0)
    for benchmark in (sending, callbacks, broadcasts, life, processes):
        monkeypatch.setattr(benchmark, "parts", of_shared)
    for benchmark in (sending, callbacks):
        monkeypatch.setattr(benchmark, "SECONDS", SECONDS)


def test_sends_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SLOW_WARM_UP", 0.1)
    monkeypatch.setattr(sending, "SLOW_CONNECTIONS", 8)
    monkeypatch.setattr(sending, "LATENCY_MS", 20)
    make_load = sending.make_load
    monkeypatch.setattr(sending, "make_load", lambda *of: replace(make_load(*of), rate=RATE))
    rate, cpu = sending._slow_table(sending._drive_slowly(1, tmp_path)).figures
    assert rate.value > 0
    assert cpu.value > 0


def test_two_web_processes_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def backend(_: str) -> Iterator[Backend]:
        yield Backend()

    monkeypatch.setattr(processes, "running_backend", backend)
    # The first web process outlives this test, and would keep its group.
    monkeypatch.setattr(quota, "is_available", lambda: False)
    monkeypatch.setattr(processes, "WARM_UP", 0.1)
    with processes._webs() as loads:
        assert len({load.pid for load in loads}) == 2
        rate, _ = processes._drive([replace(load, rate=RATE) for load in loads])
    assert rate > 0


# It starts the worker, which the next tests use.
def test_callbacks_are_measured_and_their_events_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    @contextmanager
    def peer(_: Path, name: str) -> Iterator[Server]:
        assert name == "bare_connexion"
        yield Server(receiver.url(""), 0)

    monkeypatch.setattr(callbacks, "peer", peer)
    with receivers() as url, callbacks._contenders(tmp_path, url) as (gateway, loads):
        found = {name: [drive(replace(load, rate=RATE))] for name, load in loads.items()}
        gateway.begin("worker")
        assert callbacks._arrivals(url) > 0
    assert callbacks._rate_table(found).figures[0].value > 0


def test_broadcasts_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcasts, "RECIPIENTS", 200)
    with broadcasts._bench(SQLITE) as bench:
        sent = bench.broadcast(0)
    assert sent.rate > 0
    assert sent.cpu > 0


def test_no_life_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    # The load may begin late on a busy machine, and each half needs a life.
    monkeypatch.setattr(life, "SECONDS", 4)
    monkeypatch.setattr(life, "RATE", 10)
    monkeypatch.setattr(life, "WARM_UP", 0.5)
    monkeypatch.setattr(life, "SAMPLE_SECONDS", 0.05)
    monkeypatch.setattr(life, "BACKENDS", [SQLITE])
    [table] = life.run(1)
    missing = {goal.name: goal.value for goal in table.goals}["lives never completed"]
    assert missing == 0


def test_an_event_is_found_at_its_receiver(shared: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_servers, "SECONDS", 1)
    if "worker" not in shared.processes:
        shared.begin("worker")
    with receivers("benchmarks.webhook_servers_receiver") as url:
        service = webhook_servers.Service(shared, url)
        load = service.load([["ok/0"], ["ok/1"]])
        loads = {"events": load, "sends": service.load_of_sends()}
        measured = [webhook_servers._latency(*each, service, 20) for each in loads.items()]
        found = {name: value for figures in measured for name, _, value in figures}
    for name in loads:
        assert found[f"20 {name} a second, lost"] == 0
        assert found[f"20 {name} a second, p50"] > 0
