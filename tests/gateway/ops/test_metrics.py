"""/metrics: the counters, and the values read from the database at each scrape."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from redis import RedisError

from gateway.ops import metrics
from gateway.settings import SettingsError
from models.accounts.account import Account
from models.database import writing
from models.database.heartbeat import Heartbeat
from models.deliveries.attempt import Outcome, record_outcomes
from models.deliveries.claim import Terms
from models.messages.callback import Reason, SetAside
from networks import exceptions as network
from services import telemetry
from tasks import attempt_log, queue
from tests import factories
from tests.conftest import Clock
from tests.factories import claim_due

pytestmark = pytest.mark.usefixtures("state")


def _samples() -> Iterator[Sample]:
    app = Flask("probe")
    app.register_blueprint(metrics.blueprint)
    answer = app.test_client().get("/metrics")
    assert answer.content_type.startswith("text/plain")
    for family in text_string_to_metric_families(answer.get_data(as_text=True)):
        yield from family.samples


def _read() -> dict[tuple[str, str], float]:
    """Every sample by its name and the value of its only label."""
    return {
        (sample.name.removeprefix("gateway_"), next(iter(sample.labels.values()), "")): sample.value
        for sample in _samples()
        if sample.name.startswith("gateway_") and not sample.name.endswith("_bucket")
    }


def _steps(before: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """The increase of each counter since then. Other tests in the process count too."""
    now = _read()
    return {at: now[at] - before.get(at, 0) for at in now if now[at] != before.get(at, 0)}


def test_the_backlog_is_read_at_each_scrape(account: Account, clock: Clock) -> None:
    factories.deliveries(account, factories.webhook(account), count=3)
    clock.advance(seconds=7)
    claim_due(1, Terms(1, 10_000))
    queue.huey.flush()
    queue.deliveries.put()
    Heartbeat.beat()
    with writing():
        SetAside.record(Reason.UNREADABLE, b"{}", ())
    seen = _read()
    assert seen["deliveries_pending", ""] == 3
    assert seen["deliveries_due", ""] == 2
    assert seen["oldest_due_seconds", ""] == 7
    assert seen["queue_tasks", ""] == 1
    assert seen["worker_last_seen_timestamp_seconds", ""] == clock.at / 1000
    assert seen["set_aside", "unreadable"] == 1
    assert seen["set_aside", "failed"] == 0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "accepted"),
        (network.RefusedError, "refused"),
        (network.ThrottledError, "throttled"),
        (network.NotReachedError, "not_reached"),
        (network.AmbiguousError, "ambiguous"),
        (network.NumberBannedError, "number"),
    ],
)
def test_a_send_is_counted_by_what_the_network_said(
    error: type[network.NetworkError] | None, outcome: str
) -> None:
    before = _read()
    telemetry.count_send(None if error is None else error("131026", "No."))
    assert _steps(before) == {("sends_total", outcome): 1}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"success": True, "status_code": 204}, "success"),
        ({"success": False, "status_code": 500}, "refused"),
        ({"success": False, "timed_out": True}, "timeout"),
        ({"success": False}, "no_answer"),
    ],
)
def test_an_attempt_is_timed_by_its_outcome(
    account: Account, clock: Clock, answer: dict[str, Any], outcome: str
) -> None:
    factories.deliveries(account, factories.webhook(account))
    [claimed] = claim_due(1, Terms(1, 10_000))
    before = _read()
    started_at = clock.advance(seconds=2)
    ended = Outcome(claimed.delivery_id, claimed.lease_token, started_at, 40, **answer)
    attempt_log.report_attempt(claimed, ended)
    steps = _steps(before)
    assert steps["attempt_duration_seconds_count", outcome] == 1
    assert steps["attempt_duration_seconds_sum", outcome] == pytest.approx(0.04)
    assert steps["delivery_lag_seconds_sum", ""] == pytest.approx(2)


def test_a_delivery_counts_when_it_is_at_its_end(account: Account) -> None:
    factories.deliveries(account, factories.webhook(account), count=4)
    good, *bad = claim_due(4, Terms(4, 10_000))
    outcomes = [factories.success(good), *map(factories.failure, bad)]
    delays = iter([None, 30.0, 30.0])
    states = record_outcomes(outcomes, lambda _: next(delays), 10)
    before = _read()
    attempt_log.count_recorded(states)
    assert _steps(before) == {
        ("deliveries_total", "delivered"): 1,
        ("deliveries_total", "given_up"): 1,
    }


def test_of_several_web_processes_each_shows_the_sum(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(metrics.SHARED, "so that it is put back")
    metrics.share(tmp_path / "metrics")
    for _ in range(2):
        count = "from services import telemetry; telemetry.count_send(None)"
        subprocess.run([sys.executable, "-c", count], check=True)
    seen = _read()
    assert seen["sends_total", "accepted"] == 2
    assert seen["sends_total", "ambiguous"] == 0
    # The values from the database are the same in every process.
    assert seen["deliveries_pending", ""] == 0


def test_processes_that_count_together_begin_at_nought(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(metrics.SHARED, "so that it is put back")
    (tmp_path / "counter_4711.db").write_text("of an earlier run")
    metrics.share(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_metrics_directory_that_cannot_be_created_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(SettingsError, match=r"^GATEWAY_DATA_DIR .*taken"):
        metrics.share(tmp_path / "taken" / "metrics")


def _refuse() -> None:
    raise RedisError("away")


def test_without_the_queue_all_other_metrics_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue.huey.storage, "queue_size", _refuse)
    told = {name for name, _ in _read()}
    assert "queue_tasks" not in told
    assert {"sends_total", "deliveries_pending", "worker_last_seen_timestamp_seconds"} <= told
