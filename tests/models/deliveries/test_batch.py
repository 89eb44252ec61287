"""Several events of a webhook in one request (``batch_events``): what a claim takes, and what it counts."""

import json
from collections.abc import Sequence

import pytest

from models.accounts.account import Account
from models.database import writing
from models.deliveries import batch, claim
from models.deliveries.attempt import record_outcomes
from models.deliveries.batch import MOST_BYTES, Content, content_of, split
from models.deliveries.claim import Allowed, Request, Terms, requests_of
from models.deliveries.delivery import Delivery, DeliveryState
from models.deliveries.outgoing import Limits, Outgoing
from models.deliveries.webhook import Webhook
from tests import factories
from tests.conftest import Clock

LEASE_MS = 30_000
ENVELOPE = '{"event":"number.banned","timestamp":"2026-11-20T09:31:00.000Z","data":{}}'


def _events(account: Account, *webhooks: Webhook, count: int = 1) -> list[Delivery]:
    return factories.deliveries(account, *webhooks, count=count, payload=ENVELOPE)


def _batching(account: Account, events: int | None, wait_ms: int = 0, max_rate: int = 0) -> Webhook:
    webhook = factories.webhook(account)
    with writing():
        webhook.change(batch_events=events, batch_wait_ms=wait_ms, max_rate=max_rate)
    return webhook


def _claim(terms: Terms | None = None) -> claim.Claim:
    return claim.claim_due(100, terms or Terms(10, LEASE_MS))


def _requests(terms: Terms | None = None) -> list[Request]:
    return requests_of(_claim(terms).deliveries)


def _sizes(requests: Sequence[Request]) -> list[int]:
    return [len(request.deliveries) for request in requests]


def test_a_part_ends_with_its_items_or_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MOST_BYTES", 10)
    assert split([], int, 3) == []
    assert split([1, 1, 1, 1], int, 3) == [[1, 1, 1], [1]]
    assert split([4, 6, 1, 30, 9, 2], int, 5) == [[4, 6], [1, 30], [9, 2]]


def test_without_the_setting_each_event_is_a_request_with_its_own_bytes(account: Account) -> None:
    webhook = _batching(account, None)
    _events(account, webhook, count=3)
    requests = _requests()
    assert _sizes(requests) == [1, 1, 1]
    for request in requests:
        assert request.content == request.first.content


def test_events_of_one_webhook_go_together_oldest_first(account: Account) -> None:
    hooks = _batching(account, 4), _batching(account, 4), factories.webhook(account)
    made = _events(account, *hooks, count=5)
    requests = _requests()
    assert sorted(_sizes(requests)) == [1] * 5 + [1, 1, 4, 4]
    for hook in hooks[:2]:
        ours = [request for request in requests if request.first.webhook.id == hook.id]
        ids = [event["id"] for each in ours for event in json.loads(each.content.body)["events"]]
        assert ids == [delivery.event_id for delivery in made if delivery.webhook_id == hook.id]
        assert {each.content.kind for each in ours} == {"batch"}
    first = next(each for each in requests if each.content.kind == "batch")
    [event, *_] = json.loads(first.content.body)["events"]
    assert event == json.loads(first.first.content.body)


def test_a_batch_is_identified_by_its_events(account: Account) -> None:
    webhook = _batching(account, 1)
    one, other = (Content(f"evt_{n}", "number.banned", b'{"event":1}') for n in (1, 2))
    names = [content_of(webhook, each).event_id for each in ([one], [other], [one, other])]
    assert len(set(names)) == 3
    assert content_of(webhook, [one, other]).event_id == names[2]


def test_rooms_and_paces_count_requests(account: Account) -> None:
    webhook = _batching(account, 3)
    _events(account, webhook, count=20)
    assert _sizes(_requests(Terms(2, LEASE_MS))) == [3, 3]
    assert _sizes(_requests(Terms(9, LEASE_MS, per_account=1))) == [3]
    at_pace = Terms(9, LEASE_MS, paces={webhook.id: Allowed(5, 2)})
    assert _sizes(_requests(at_pace)) == [3, 3]


def test_the_minute_counts_requests_and_the_bytes_of_their_events(account: Account) -> None:
    webhook = _batching(account, 3)
    _events(account, webhook, count=20)
    # A host gets half of them.
    limits = Limits({account.plan: 8})
    requests = _requests(Terms(100, LEASE_MS, limits=limits))
    assert _sizes(requests) == [3, 3, 3, 3]
    [counted] = Outgoing.select()
    size = sum(len(each.content.body) for request in requests for each in request.deliveries)
    assert (counted.requests, counted.size) == (4, size)
    assert _claim(Terms(100, LEASE_MS, limits=limits)).paused == 1


def test_large_events_take_no_more_than_their_room(account: Account) -> None:
    large = '{"event":"number.banned","data":"' + "x" * (MOST_BYTES * 3 // 5) + '"}'
    factories.deliveries(account, _batching(account, 100), count=4, payload=large)
    assert _sizes(_requests(Terms(1, LEASE_MS))) == [2]


def test_the_rate_counts_events(account: Account) -> None:
    webhook = _batching(account, 5, max_rate=28)
    _events(account, webhook, count=20)
    assert _sizes(_requests()) == [5, 3]


def test_few_new_events_wait_until_the_first_is_old_enough(account: Account, clock: Clock) -> None:
    webhook = _batching(account, 3, wait_ms=500)
    _events(account, webhook)
    clock.advance(seconds=0.2)
    _events(account, webhook)
    waiting = _claim()
    assert (waiting.deliveries, waiting.opens_in, waiting.more) == ([], {webhook.id: 300}, True)
    clock.advance(seconds=0.299)
    assert _claim().deliveries == []
    clock.advance(seconds=0.001)
    assert _sizes(_requests()) == [2]


def test_enough_events_do_not_wait(account: Account) -> None:
    webhook = _batching(account, 3, wait_ms=500)
    _events(account, webhook, count=3)
    assert _sizes(_requests()) == [3]
    with writing():
        webhook.change(batch_events=0)
    _events(account, webhook)
    assert _sizes(_requests()) == [1]


def test_retries_go_together_and_do_not_wait(account: Account) -> None:
    webhook = _batching(account, 5, wait_ms=500)
    retries = _events(account, webhook, count=2)
    _events(account, webhook)
    with writing():
        Delivery.update(tries=1).where(Delivery.id.in_([each.id for each in retries])).execute()
    [request] = _requests()
    assert [each.delivery_id for each in request.deliveries] == [each.id for each in retries]


def test_no_event_waits_for_longer_when_the_clock_is_set_back(
    account: Account, clock: Clock
) -> None:
    webhook = _batching(account, 3, wait_ms=500)
    _events(account, webhook)
    clock.advance(hours=-1)
    assert _sizes(_requests()) == [1]


def test_waiting_webhooks_take_no_turn_of_another(account: Account, clock: Clock) -> None:
    waiting = [_batching(account, 3, wait_ms=5_000) for _ in range(12)]
    _events(account, *waiting)
    clock.advance(seconds=0.001)
    [ready] = _events(account, factories.webhook(account))
    first = _claim()
    assert first.more
    closed = {id_: Allowed(10, 0) for id_ in first.opens_in}
    again = _claim(Terms(10, LEASE_MS, paces=closed))
    assert [each.delivery_id for each in (*first.deliveries, *again.deliveries)] == [ready.id]


def test_a_failed_request_counts_once_for_its_webhook(account: Account) -> None:
    webhook = _batching(account, 10)
    _events(account, webhook, count=10)
    [request] = _requests()
    outcomes = [
        factories.failure(each).__class__(
            **vars(factories.failure(each)) | {"is_counted": each is request.first}
        )
        for each in request.deliveries
    ]
    states = record_outcomes(outcomes, lambda _: None, 2)
    assert states == {DeliveryState.FAILED: 10}
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.failure_count, stored.active) == (1, True)
