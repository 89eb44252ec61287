"""The engine sends batches: what arrives, how it is signed, and what a response changes."""

import asyncio
import hashlib
import hmac
import threading
import time
from itertools import chain

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries.attempt import NO_OUTCOME, Attempt
from models.deliveries.claim import ClaimedDelivery
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.webhook import Webhook
from services import webhooks as service
from tests import factories
from tests.receiver import Exchange, Received, Receiver, answer
from tests.tasks.engines import make_engine, running
from tests.waiting import until

ENVELOPE = '{"event":"number.banned","timestamp":"2026-11-20T09:31:00.000Z","data":{}}'

pytestmark = pytest.mark.usefixtures("state")


def _events(account: Account, *webhooks: Webhook, count: int = 1) -> list[Delivery]:
    return factories.deliveries(account, *webhooks, count=count, payload=ENVELOPE)


def _batching(account: Account, receiver: Receiver, events: int, wait_ms: int = 0) -> Webhook:
    webhook = factories.webhook(account, receiver.url())
    service.change(webhook, batch_events=events, batch_wait_ms=wait_ms)
    return webhook


def _ids(requests: list[Received]) -> list[list[str]]:
    return [[event["id"] for event in request.event["events"]] for request in requests]


def _states() -> dict[str, int]:
    states = [delivery.state for delivery in Delivery.select()]
    return {state: states.count(state) for state in states}


def test_due_events_arrive_together_under_one_signature(
    account: Account, receiver: Receiver
) -> None:
    webhook = _batching(account, receiver, 20)
    made = _events(account, webhook, count=50)
    with running():
        until(lambda: _states() == {DeliveryState.DELIVERED: 50}, "all")
    requests = receiver.at()
    assert sorted(map(len, _ids(requests))) == [10, 20, 20]
    assert sorted(chain.from_iterable(_ids(requests))) == sorted(each.event_id for each in made)
    of_event = {each.event_id: each.id for each in made}
    for request in requests:
        digest = hmac.new(webhook.secret.encode(), request.body, hashlib.sha256).hexdigest()
        assert request.headers["x-service-signature"] == f"sha256={digest}"
        assert request.headers["x-service-event"] == "batch"
        first = request.event["events"][0]["id"]
        assert request.headers["x-service-delivery"] == of_event[first]
    assert len({request.headers["webhook-id"] for request in requests}) == 3
    assert Attempt.select().count() == 50


def test_a_refused_request_is_retried_as_a_whole_and_counts_once(
    account: Account, receiver: Receiver
) -> None:
    refused: list[str] = []
    lock = threading.Lock()

    def behave(exchange: Exchange) -> None:
        with lock:
            refused.append("")
            exchange.reply(500 if len(refused) <= 4 else 200)

    receiver.behave(behave)
    webhook = _batching(account, receiver, 20)
    _events(account, webhook, count=10)
    with running(make_engine(deactivate_after=2)):
        until(lambda: _states() == {DeliveryState.FAILED: 10}, "the end")
        first, *retries = receiver.at()
        assert [each.headers["webhook-id"] for each in retries] == [first.headers["webhook-id"]] * 3
        assert [each.headers["x-service-attempt"] for each in retries] == ["2", "3", "4"]
        stored = Webhook.get_by_id(webhook.id)
        assert (stored.failure_count, stored.active) == (1, True)
        _events(account, webhook, count=3)
        until(lambda: _states()[DeliveryState.FAILED] == 10 and "delivered" in _states(), "more")
    assert Webhook.get_by_id(webhook.id).failure_count == 0


def test_the_count_is_that_of_an_event_without_attempts_left(
    account: Account, receiver: Receiver
) -> None:
    """A new event in the request has attempts left. An earlier one has none, and its failure counts."""
    receiver.behave(answer(500))
    webhook = _batching(account, receiver, 20)
    new, last = _events(account, webhook, count=2)
    with writing():
        Delivery.update(tries=3).where(Delivery.id == last.id).execute()
    with running(make_engine(deactivate_after=1)):
        until(lambda: not Webhook.get_by_id(webhook.id).active, "the end")
    assert len(_ids(receiver.at())[0]) == 2
    assert Delivery.get_by_id(last.id).state == DeliveryState.FAILED
    assert Delivery.get_by_id(new.id).state == DeliveryState.SKIPPED


def test_events_wait_for_each_other_without_another_wake_up(
    account: Account, receiver: Receiver
) -> None:
    webhook = _batching(account, receiver, 20, wait_ms=400)
    engine = make_engine()
    engine.start()
    began = time.monotonic()
    for _ in range(3):
        _events(account, webhook)
        engine.wake()
        time.sleep(0.05)
    # No poll: the engine wakes itself.
    until(lambda: _states() == {DeliveryState.DELIVERED: 3}, "all")
    engine.stop()
    assert list(map(len, _ids(receiver.at()))) == [3]
    assert time.monotonic() - began > 0.4


def test_an_unwanted_event_withdraws_its_request_and_the_others_go_again(
    account: Account, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its person was erased after the claim, for instance."""
    webhook = _batching(account, receiver, 20)
    erased, kept = _events(account, webhook, count=2)
    monkeypatch.setattr("tasks.deliver.STALE_SECONDS", 0)
    checked: list[str] = []

    def is_wanted(claimed: ClaimedDelivery, _left_ms: int) -> bool:
        checked.append(claimed.delivery_id)
        if checked == [erased.id]:
            with writing():
                Delivery.delete().where(Delivery.id == erased.id).execute()
            monkeypatch.undo()
            return False
        return True

    monkeypatch.setattr("tasks.deliver.is_wanted", is_wanted)
    with running():
        until(lambda: _states() == {DeliveryState.DELIVERED: 1}, "the other")
    assert _ids(receiver.at()) == [[kept.event_id]]
    assert Delivery.get_by_id(kept.id).attempt_count == 1


def test_a_suspect_is_a_batch_of_one(account: Account, receiver: Receiver) -> None:
    webhook = _batching(account, receiver, 20)
    [suspect] = _events(account, webhook)
    with writing():
        changes = {"tries": 3, "attempt_count": 3, "due": False, "lease_token": "lost", "due_at": 1}
        Delivery.update(changes).where(Delivery.id == suspect.id).execute()
        Attempt.create(
            id="att_1",
            delivery=suspect.id,
            number=2,
            started_at=1,
            duration_ms=0,
            success=False,
            error=NO_OUTCOME,
        )
    with running():
        receiver.wait(1)
    assert _ids(receiver.at()) == [[suspect.event_id]]


def test_a_test_event_is_a_batch_of_one(account: Account, receiver: Receiver) -> None:
    webhook = _batching(account, receiver, 20)
    assert asyncio.run(service.send_test_delivery(webhook)).success
    [request] = receiver.at()
    [event] = request.event["events"]
    assert [*event] == ["id", "event", "timestamp", "data"]
    assert request.headers["x-service-event"] == "batch"


def test_past_headers_are_those_of_a_batch_of_one(account: Account, receiver: Receiver) -> None:
    webhook = _batching(account, receiver, 20)
    [delivery] = _events(account, webhook)
    with running():
        until(lambda: _states() == {DeliveryState.DELIVERED: 1}, "it")
    found = Delivery.find(delivery.id)
    assert found is not None
    [attempt] = Attempt.of(found)
    [request] = receiver.at()
    headers = service.headers_of(attempt, found)
    del headers["User-Agent"]
    assert {
        name.lower(): value for name, value in headers.items()
    }.items() <= request.headers.items()
