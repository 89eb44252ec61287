"""What the engine says of its work: attempts, waiting queries, and trouble of this machine."""

import logging
import time
from collections import Counter

import pytest
from peewee import OperationalError
from prometheus_client import REGISTRY

from models.accounts.account import Account
from models.database.heartbeat import Heartbeat
from models.deliveries.attempt import Attempt, Outcome
from models.deliveries.claim import Claim, Terms
from models.deliveries.delivery import Delivery, DeliveryState
from tasks import claim_pause, deliver
from tests import factories
from tests.receiver import Receiver
from tests.tasks.engines import TIMEOUT, Troubled, make_engine
from tests.waiting import until
from webhooks.schedule import RetrySchedule

pytestmark = pytest.mark.usefixtures("state")


def _troubled(failures: int) -> deliver.Engine:
    return deliver.Engine(Troubled(failures), RetrySchedule((30.0,)), TIMEOUT, 10)


def _is_delivered() -> bool:
    return Delivery.get().state == DeliveryState.DELIVERED


def _unavailable(*_: object) -> None:
    raise OperationalError("away")


def test_an_attempt_is_measured_and_logged(
    account: Account, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    def attempts() -> float:
        name, labels = "gateway_attempt_duration_seconds_count", {"outcome": "success"}
        return REGISTRY.get_sample_value(name, labels) or 0

    before = attempts()
    [delivery] = factories.deliveries(account, factories.webhook(account, receiver.url()))
    engine = make_engine()
    with caplog.at_level(logging.INFO):
        engine.start()
        until(_is_delivered, "the delivery")
        engine.stop()
    assert attempts() == before + 1
    assert delivery.id in str([vars(record) for record in caplog.records])


def test_the_queries_that_wait_are_known_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float | None] = []

    def look(_room: int, _terms: Terms) -> Claim:
        seen.append(engine.queries.since())
        return Claim([], set(), more=False)

    monkeypatch.setattr(deliver, "claim_due", look)
    engine = make_engine()
    began = time.monotonic()
    engine.start()
    until(lambda: len(seen) >= 2, "a claim of each lane")
    engine.stop()
    assert all(since is not None and since >= began for since in seen)
    assert engine.queries.since() is None


def test_after_the_pause_the_engine_claims_without_a_poll(
    account: Account, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The delivery is given back before the pause ends.
    monkeypatch.setattr(claim_pause, "FIRST_PAUSE_SECONDS", 0.3)
    factories.deliveries(account, factories.webhook(account, receiver.url()))
    engine = _troubled(1)
    engine.start()
    until(_is_delivered, "the delivery")
    engine.stop()


def test_trouble_pauses_though_the_database_is_away(
    account: Account, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deliver, "give_back", _unavailable)
    monkeypatch.setattr(Heartbeat, "note_trouble", _unavailable)
    [delivery] = factories.deliveries(account, factories.webhook(account))
    engine = _troubled(1)
    engine.start()
    until(lambda: "/readyz does not show it" in caplog.text, "a warning")
    engine.stop()
    assert engine._claim_pause.pause > 0
    assert f"{delivery.id} keeps its lease" in caplog.text


def test_only_a_response_ends_the_trouble(
    account: Account, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine()
    ended: list[None] = []
    monkeypatch.setattr(engine._claim_pause, "end", lambda: ended.append(None))
    engine._claim_pause.pause = 1
    factories.deliveries(account, factories.webhook(account, "http://127.0.0.1:1/"))
    engine.start()
    until(lambda: Attempt.select().exists(), "an attempt without a response")
    assert ended == []
    factories.deliveries(account, factories.webhook(account, receiver.url()))
    engine.wake()
    until(lambda: ended, "the end of the trouble")
    engine.stop()


@pytest.mark.parametrize(
    ("timed_out", "sizes"), [(False, [100, 100, 20]), (True, [30, 30, 30, 30, 30, 30, 30, 10])]
)
def test_outcomes_are_recorded_in_batches_smaller_ones_of_slow_receivers(
    monkeypatch: pytest.MonkeyPatch, *, timed_out: bool, sizes: list[int]
) -> None:
    recorded: list[int] = []

    def record(batch: list[Outcome], *_: object) -> Counter[str]:
        recorded.append(len(batch))
        return Counter({DeliveryState.DELIVERED: len(batch)})

    monkeypatch.setattr(deliver, "record_outcomes", record)
    counted = REGISTRY.get_sample_value("gateway_deliveries_total", {"outcome": "delivered"})
    engine = make_engine()
    outcome = Outcome("del_1", "token", 0, 0, success=True, timed_out=timed_out)
    for _ in range(220):
        engine._outcomes.put_nowait(("acc_1", outcome))
    engine.start()
    engine.stop()
    assert recorded == sizes
    after = REGISTRY.get_sample_value("gateway_deliveries_total", {"outcome": "delivered"})
    assert (after or 0) - (counted or 0) == 220


def test_one_bad_outcome_of_two_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: list[str] = []

    def record(batch: list[Outcome], *_: object) -> Counter[str]:
        if any(outcome.delivery_id == "bad" for outcome in batch):
            raise ValueError
        recorded.extend(outcome.delivery_id for outcome in batch)
        return Counter()

    monkeypatch.setattr(deliver, "record_outcomes", record)
    engine = make_engine()
    for delivery_id in ("bad", "good"):
        outcome = Outcome(delivery_id, "token", 0, 0, success=True)
        engine._outcomes.put_nowait(("acc_1", outcome))
    engine.start()
    engine.stop()
    assert recorded == ["good"]


def test_an_outage_is_tried_again_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    def record(_batch: list[Outcome], *_: object) -> Counter[str]:
        tried.append(time.monotonic())
        if len(tried) == 1:
            _unavailable()
        return Counter()

    monkeypatch.setattr(deliver, "FAILURE_PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(deliver, "record_outcomes", record)
    engine = make_engine()
    engine._outcomes.put_nowait(("acc_1", Outcome("del_1", "token", 0, 0, success=True)))
    engine.start()
    until(lambda: len(tried) == 2, "the second try")
    engine.stop()
    assert tried[1] - tried[0] > 0.19
