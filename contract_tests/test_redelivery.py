"""Bulk redelivery as in a deployment: in the background, and safe from a kill or a lost queue."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from contract_tests.backlog import write_skipped
from contract_tests.harness import START_SECONDS, Customer, Received, Receiver, Reply, wait_for
from contract_tests.parts import Parts, deployed

# Several batches of the worker.
MANY = 1_200
MOST = 10_000
IN_FLIGHT = 10
PATIENCE = 80


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """Web and sandbox without automatic retries, and with redelivery at once."""
    settings = {
        "GATEWAY_RETRY_SCHEDULE": "3600",
        "GATEWAY_DELIVERY_TIMEOUT": "2",
        "GATEWAY_REDELIVERY_RATE": "1000000",
    }
    with deployed(tmp_path_factory.mktemp("redelivery"), **settings) as parts:
        yield parts


@pytest.fixture
def parts(service: Parts) -> Iterator[Parts]:
    """The same, without a worker and without a delivery."""
    for table in ("redelivery", "attempt", "delivery"):
        service.stored.change(f"DELETE FROM {table}")  # noqa: S608 - our own words
    yield service
    service.stop_workers()


@pytest.fixture
def customer(parts: Parts) -> Customer:
    """An account with an active number."""
    return parts.customer()


def _webhook(customer: Customer, receiver: Receiver, path: str = "/hook") -> str:
    body = {"url": receiver.url(path), "events": ["message.sent"]}
    return str(customer.request("POST", "/webhooks", json=body).json()["id"])


def _redeliver(customer: Customer, webhook_id: str) -> int:
    answer = customer.request("POST", f"/webhooks/{webhook_id}/redeliver", json={})
    assert answer.status_code == 200, answer.text
    count: int = answer.json()["count"]
    return count


def _total(customer: Customer, webhook_id: str, state: str) -> int:
    path = f"/webhooks/{webhook_id}/deliveries"
    page = customer.request("GET", path, params={"state": state, "limit": "1"}).json()
    total: int = page["pagination"]["total"]
    return total


def _times(received: list[Received]) -> Counter[str]:
    """The number of requests of each delivery."""
    return Counter(r.headers["x-service-delivery"] for r in received)


def test_a_kill_and_a_lost_queue_lose_and_duplicate_nothing(
    parts: Parts, customer: Customer, receiver: Receiver
) -> None:
    webhook_id = _webhook(customer, receiver)
    write_skipped(parts.stored, customer, webhook_id, MANY)
    assert _redeliver(customer, webhook_id) == MANY
    assert _total(customer, webhook_id, "skipped") == MANY, "the request itself schedules nothing"
    parts.stored.lose_queue()
    # The first delivery comes before the later batches are scheduled.
    first = parts.start_worker()
    receiver.wait(count=1, seconds=PATIENCE)
    first.kill()
    first.wait()
    parts.start_worker()
    wait_for(lambda: _total(customer, webhook_id, "delivered") == MANY, "all delivered", PATIENCE)
    times = _times(receiver.at())
    assert len(times) == MANY
    again = [delivery_id for delivery_id, count in times.items() if count > 1]
    assert len(again) <= IN_FLIGHT, "only work in progress when the worker was killed"
    assert parts.stored.count("delivery", "attempt_count = 2") <= IN_FLIGHT
    assert parts.stored.count("delivery", "attempt_count > 2") == 0
    assert parts.stored.count("redelivery") == 0


def test_a_new_event_does_not_wait_behind_the_redeliveries_of_another_webhook(
    parts: Parts, customer: Customer, receiver: Receiver
) -> None:
    go_on = threading.Event()

    def hold(received: Received) -> Reply:
        if received.path == "/many":
            go_on.wait(1)
        return Reply(200)

    receiver.reply = hold
    many, other = (_webhook(customer, receiver, path) for path in ("/many", "/other"))
    write_skipped(parts.stored, customer, many, MANY)
    assert _redeliver(customer, many) == MANY
    parts.start_worker()
    receiver.wait("/many", IN_FLIGHT, seconds=START_SECONDS)
    assert customer.send("15551234567").status_code == 200
    receiver.wait("/other")
    assert len(receiver.at("/many")) < MANY // 2
    assert _total(customer, other, "failed") == 0
    go_on.set()


def test_a_redelivery_is_limited_to_ten_thousand_and_skips_disabled_webhooks(
    parts: Parts, customer: Customer, receiver: Receiver
) -> None:
    """A second call is refused while this many wait."""
    webhook_id = _webhook(customer, receiver)
    write_skipped(parts.stored, customer, webhook_id, MOST + 1)
    assert _redeliver(customer, webhook_id) == MOST
    refused = customer.request("POST", f"/webhooks/{webhook_id}/redeliver", json={})
    assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)
    assert f"{MOST:,} " in refused.json()["error"]["message"]
    switched = customer.request("PATCH", f"/webhooks/{webhook_id}", json={"active": False})
    assert switched.json()["active"] is False
    parts.start_worker()

    def left() -> int:
        return parts.stored.count("redelivery")

    wait_for(lambda: left() == 0, "an end of the redeliveries")
    assert _total(customer, webhook_id, "skipped") == MOST + 1
    assert receiver.at() == []


def test_a_redelivery_keeps_to_the_rate_and_delays_no_other(
    parts: Parts, customer: Customer, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate, seconds = 20, 5
    monkeypatch.setitem(parts.environment, "GATEWAY_REDELIVERY_RATE", str(rate))
    many, other = (_webhook(customer, receiver, path) for path in ("/many", "/other"))
    write_skipped(parts.stored, customer, many, rate * seconds)
    write_skipped(parts.stored, customer, other, rate)
    # Two workers share the rate.
    for _ in range(2):
        parts.start_worker()
    for webhook_id, count in ((many, rate * seconds), (other, rate)):
        assert _redeliver(customer, webhook_id) == count
    receiver.wait("/other", rate, seconds=START_SECONDS)
    assert len(receiver.at("/many")) <= 2 * rate
    times = [received.at for received in receiver.wait("/many", rate * seconds)]
    # An attempt may be a second late.
    later = times[2 * rate + 1 :]
    assert all(end - begin > 0.5 for begin, end in zip(times, later, strict=False))
    assert seconds - 2 < times[-1] - times[0] < 2 * seconds
