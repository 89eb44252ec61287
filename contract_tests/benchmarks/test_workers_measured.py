"""The benchmarks that load a worker run once: small, on SQLite, and without the other software."""

import pytest

from benchmarks import delivering, pace, processes, quota, waking
from benchmarks.backends import SQLITE

pytestmark = pytest.mark.sqlite("the benchmarks choose their backends themselves")


def test_deliveries_are_measured() -> None:
    ours = delivering.Contender("ours", lambda b: delivering._drain_by_us(b, 1), count=200)
    ours.take_turn()
    assert ours.figure().value > 0


def test_waking_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "EVENTS", 5)
    monkeypatch.setattr(waking, "WARM_UP", 1)
    monkeypatch.setattr(waking, "PAUSE_SECONDS", 0.01)
    ours = waking.Contender("ours", waking._we)
    ours.take_turn()
    assert [figure.value > 0 for figure in ours.figures()] == [True, True]


def test_the_pace_is_measured_and_no_event_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "BACKLOGS", {10: 500})
    monkeypatch.setattr(pace, "WARM_UP_SECONDS", 0)
    monkeypatch.setattr(pace, "SECONDS", 0.3)
    monkeypatch.setattr(pace, "REFUSED_EVENTS", 50)
    monkeypatch.setattr(pace, "BATCHES", {10: 100})
    assert pace._rate(10) > 0
    rate, cpu = pace._batched(10)
    assert rate > 0
    assert cpu > 0
    _, _, missing = pace._refusals("limit/1000")
    assert missing == 0


def test_a_worker_beside_others_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "POSTGRESQL_AND_REDIS", SQLITE)
    monkeypatch.setattr(quota, "is_available", lambda: False)
    monkeypatch.setattr(processes, "COUNT", 100)
    monkeypatch.setattr(processes, "ADDRESSES", 10)
    rate, _ = processes._drain(1)
    assert rate > 0
