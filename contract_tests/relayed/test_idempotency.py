"""One Idempotency-Key never sends twice: concurrent requests, and a connection that is cut or silent.

The contract's rules on the key are tested in conformance/test_conformance_idempotency.py.
"""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from contract_tests.harness import Customer, Gateway
from contract_tests.raw_http import Request, all_at_once
from contract_tests.relay import Relay, accepted, behaving

CONCURRENT = 50
REPLAYED = "Idempotency-Replayed"


def _is_replayed(answer: requests.Response) -> bool:
    return answer.headers.get(REPLAYED) == "true"


def _check_conflict(answer: requests.Response) -> None:
    """409: the first request with the key is still running."""
    assert answer.status_code == 409, answer.text
    assert answer.json()["error"]["code"] == "CONFLICT"
    assert int(answer.headers["Retry-After"]) >= 1


def _keyed(customer: Customer, path: str, body: object) -> Request:
    """A POST with the key ``concurrent``."""
    headers = (
        (b"Host", b"127.0.0.1"),
        (b"Authorization", b"Bearer " + customer.key.encode()),
        (b"Content-Type", b"application/json"),
        (b"Idempotency-Key", b"concurrent"),
    )
    return Request(b"POST", f"/api{path}".encode(), headers, json.dumps(body).encode())


def test_50_concurrent_requests_with_one_key_send_one_message(
    gateway: Gateway, customer: Customer
) -> None:
    recipient = "15551230001"
    body = {"number_id": customer.number["id"], "to": recipient, "type": "text"}
    request = _keyed(customer, "/messages/send", body | {"text": {"body": "Hello"}})
    with behaving(gateway, latency_ms=300):
        answers = all_at_once(gateway.port, request, CONCURRENT)
    (message,) = accepted(gateway, recipient)
    sent = [a for a in answers if a.status == 200]
    assert {a.json["wa_message_id"] for a in sent} == {message["id"]}
    assert len({a.body for a in sent}) == 1
    assert [REPLAYED.lower() in a.headers for a in sent].count(False) == 1
    for answer in answers:
        if answer not in sent:
            assert (answer.status, answer.json["error"]["code"]) == (409, "CONFLICT")
            assert int(answer.headers["retry-after"]) >= 1
    later = customer.send(recipient, key="concurrent")
    assert (later.status_code, later.content, _is_replayed(later)) == (200, sent[0].body, True)
    assert len(accepted(gateway, recipient)) == 1


def test_a_key_whose_request_never_reached_the_network_is_released_and_sends_later(
    gateway: Gateway, relay: Relay, customer: Customer
) -> None:
    recipient = "15551230002"
    relay.cut()
    try:
        refused = [customer.send(recipient, key="released") for _ in range(3)]
    finally:
        relay.restore()
    for answer in refused:
        assert answer.status_code == 500
        assert "Nothing was sent" in answer.json()["error"]["message"]
        assert not _is_replayed(answer)
    assert accepted(gateway, recipient) == []
    sent = customer.send(recipient, key="released")
    assert (sent.status_code, _is_replayed(sent)) == (200, False)
    again = customer.send(recipient, key="released")
    assert (again.status_code, again.text, _is_replayed(again)) == (200, sent.text, True)
    (message,) = accepted(gateway, recipient)
    assert sent.json()["wa_message_id"] == message["id"]


def test_a_key_whose_request_may_have_reached_the_network_never_sends_again(
    gateway: Gateway, relay: Relay, customer: Customer
) -> None:
    """The gateway cannot know that the network did not get the request, so it must not repeat it."""
    recipient = "15551230003"
    relay.swallow()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(customer.send, recipient, key="lost")
        assert relay.swallowed.wait(10)
        _check_conflict(customer.send(recipient, key="lost"))
        relay.restore()
        lost = waiting.result()
    assert lost.status_code == 500
    assert "may have been sent" in lost.json()["error"]["message"]
    repeated = customer.send(recipient, key="lost")
    assert (repeated.status_code, repeated.text) == (500, lost.text)
    assert _is_replayed(repeated)
    assert accepted(gateway, recipient) == []


TEMPLATE = {
    "name": "order_sent_once",
    "language": "en_US",
    "category": "UTILITY",
    "components": [{"type": "BODY", "text": "It has shipped."}],
}


@pytest.mark.parametrize("what", ["webhooks", "templates"])
def test_50_concurrent_requests_with_one_key_create_one_of_it(
    gateway: Gateway, customer: Customer, what: str
) -> None:
    hook = {"url": "https://example.com/hook", "events": ["number.banned"]}
    templates = f"/numbers/{customer.number['id']}/templates"
    path, listing, body = {
        "webhooks": ("/webhooks", "/webhooks", hook),
        "templates": (templates, f"{templates}?name={TEMPLATE['name']}", TEMPLATE),
    }[what]
    request = _keyed(customer, path, body)
    with behaving(gateway, latency_ms=100):
        answers = all_at_once(gateway.port, request, CONCURRENT)
    made = [a for a in answers if a.status == 201]
    assert len({a.body for a in made}) == 1
    assert [REPLAYED.lower() in a.headers for a in made].count(False) == 1
    assert {a.json["error"]["code"] for a in answers if a not in made} <= {"CONFLICT"}
    listed = customer.request("GET", listing).json()["data"]
    assert [each["id"] for each in listed] == [made[0].json["id"]]
