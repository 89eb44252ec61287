"""Batches of a running service, at a receiver that verifies them (docs/webhooks.md)."""

from collections import Counter
from itertools import chain
from typing import Any

from contract_tests.harness import Customer, Received, Receiver, Reply, wait_for
from contract_tests.standard_webhooks import VERIFIED, verdict

MESSAGES = 12


def _subscribe(customer: Customer, receiver: Receiver, **settings: Any) -> dict[str, Any]:
    body = {"url": receiver.url(), "events": ["message.sent"], **settings}
    made: dict[str, Any] = customer.request("POST", "/webhooks", json=body).json()
    # The first 2xx ends the trial of the url, with its ten events a minute.
    assert customer.request("POST", f"/webhooks/{made['id']}/test").json()["success"]
    assert customer.send("15551234567").ok
    wait_for(lambda: len(receiver.requests) > 1, "the first event")
    receiver.requests.clear()
    return made


def _send(customer: Customer) -> set[str]:
    """Send messages. Returns their identifiers."""
    sent = [customer.send("15551234567", f"Grüße {n}") for n in range(MESSAGES)]
    return {response.json()["id"] for response in sent}


def _messages(requests: list[Received]) -> list[str]:
    return [event["data"]["id"] for request in requests for event in request.event["events"]]


def test_a_refused_batch_comes_again_and_no_event_is_lost_or_repeated(
    customer: Customer, receiver: Receiver
) -> None:
    batch = {"maxEvents": 5, "maxWaitMs": 1000}
    webhook = _subscribe(customer, receiver, batch=batch)
    assert webhook["batch"] == batch
    refused: list[Received] = []

    def refuse_once(received: Received) -> Reply:
        if refused:
            return Reply()
        refused.append(received)
        return Reply(500)

    receiver.reply = refuse_once
    sent = _send(customer)

    def taken() -> list[Received]:
        return [each for each in list(receiver.requests) if each is not refused[0]]

    wait_for(lambda: refused and sent <= {*_messages(taken())}, "all events")
    assert Counter(_messages(taken())) == Counter(dict.fromkeys(sent, 1))
    sizes = [len(each.event["events"]) for each in receiver.requests]
    assert max(sizes) <= 5
    assert len(sizes) < MESSAGES
    for each in receiver.requests:
        assert each.is_signed_with(webhook["secret"])
        assert each.headers["x-service-event"] == "batch"
        assert verdict(webhook["secret"], each.headers, each.body) == VERIFIED
        times = [event["timestamp"] for event in each.event["events"]]
        assert times == sorted(times)
    known = {each.headers["webhook-id"] for each in receiver.requests}
    ids = {tuple(event["id"] for event in each.event["events"]) for each in receiver.requests}
    assert len(known) == len(ids)
    events = chain.from_iterable({*ids})
    assert all(event.startswith("evt_") for event in events)


def test_by_default_each_event_is_a_request(customer: Customer, receiver: Receiver) -> None:
    webhook = _subscribe(customer, receiver)
    assert webhook["batch"] == {"maxEvents": 0, "maxWaitMs": 0}
    sent = _send(customer)
    wait_for(lambda: len(receiver.requests) == MESSAGES, "all events")
    for each in receiver.requests:
        assert each.event.keys() == {"id", "event", "timestamp", "data"}
        assert each.headers["x-service-event"] == each.event["event"] == "message.sent"
        assert each.headers["webhook-id"] == each.event["id"]
    assert {each.event["data"]["id"] for each in receiver.requests} == sent
