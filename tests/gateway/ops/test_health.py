"""Probes: the status of each part in /readyz, with a hint for the operator."""

from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from starlette.testclient import TestClient

from gateway.ops import health
from models import database
from models.accounts.account import Account
from models.database.heartbeat import Heartbeat
from tasks import queue
from tasks.sweep import sweep
from tests import factories
from tests.conftest import Clock

pytestmark = pytest.mark.usefixtures("state")


def _ready() -> tuple[int, dict[str, Any]]:
    app = Flask("probe")
    app.register_blueprint(health.blueprint)
    answer = app.test_client().get("/readyz")
    return answer.status_code, answer.get_json()


def test_all_is_well_when_the_worker_was_just_seen() -> None:
    Heartbeat.beat()
    status, body = _ready()
    assert (status, body["status"]) == (200, "ok")
    assert {part["status"] for part in body["parts"].values()} == {"ok"}
    assert not any("hint" in part for part in body["parts"].values())


def test_without_a_worker_requests_are_served_and_the_operator_is_told() -> None:
    status, body = _ready()
    assert (status, body["status"]) == (200, "degraded")
    assert "gateway worker" in body["parts"]["worker"]["hint"]


@pytest.mark.parametrize(("seconds", "expected"), [(30, "ok"), (31, "degraded")])
def test_a_worker_may_be_silent_for_half_a_minute(
    clock: Clock, seconds: int, expected: str
) -> None:
    Heartbeat.beat()
    clock.advance(seconds=seconds)
    _, body = _ready()
    assert body["parts"]["worker"]["status"] == expected
    assert body["parts"]["worker"]["lastSeenSeconds"] == seconds


def test_the_sweep_is_a_sign_of_life(clock: Clock) -> None:
    sweep()
    assert Heartbeat.last() == clock.at


@pytest.mark.parametrize(("seconds", "expected"), [(300, "ok"), (301, "degraded")])
def test_a_delivery_that_waits_too_long_is_reported(
    account: Account, clock: Clock, seconds: int, expected: str
) -> None:
    factories.deliveries(account, factories.webhook(account))
    clock.advance(seconds=seconds)
    Heartbeat.beat()
    status, body = _ready()
    assert (status, body["status"]) == (200, expected)
    assert body["parts"]["deliveries"]["oldestDueSeconds"] == seconds


def test_missing_migrations_are_503_with_their_names_and_the_command(tmp_path: Path) -> None:
    migrated = database.database.obj
    empty = database.connect(f"sqlite://{tmp_path}/empty/gateway.db")
    status, body = _ready()
    empty.close()
    migrated.close()
    assert (status, body["status"]) == (503, "unavailable")
    assert body["parts"]["database"]["pendingMigrations"][0] == "0001_schema"
    assert "gateway migrate" in body["parts"]["database"]["hint"]


def test_a_database_that_a_later_release_contracted_is_503(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "incompatible_migrations", lambda: ["9999_contract_x"])
    status, body = _ready()
    assert status == 503
    assert body["parts"]["database"]["incompatibleMigrations"] == ["9999_contract_x"]
    assert "later release" in body["parts"]["database"]["hint"]


def _break_down() -> None:
    raise OSError("secret path")


def test_without_the_queue_requests_are_served_and_no_internals_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Heartbeat.beat()
    monkeypatch.setattr(queue.huey.storage, "queue_size", _break_down)
    status, body = _ready()
    assert (status, body["status"], body["parts"]["database"]["status"]) == (200, "degraded", "ok")
    part = body["parts"]["queue"]
    assert (part["status"], part["error"]) == ("degraded", "OSError")
    assert "GATEWAY_QUEUE_URL" in part["hint"]
    assert "secret path" not in str(body)


def test_a_database_that_cannot_be_read_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "pending_migrations", _break_down)
    check = (health._database, health.UNAVAILABLE, "Look at the disk.")
    monkeypatch.setitem(health._CHECKS, "database", check)
    status, body = _ready()
    assert status == 503
    assert body["parts"]["database"] == {
        "status": "unavailable",
        "error": "OSError",
        "hint": "Look at the disk.",
    }


def test_the_process_answers_while_all_threads_of_probes_wait() -> None:
    async def wait(*_: object) -> None:
        raise AssertionError("a thread is needed")

    asked = TestClient(health.with_health(wait))
    answer = asked.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert asked.head("/healthz").status_code == 200
    with pytest.raises(AssertionError, match="thread"):
        asked.get("/readyz")
