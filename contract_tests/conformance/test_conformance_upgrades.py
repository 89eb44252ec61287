"""A server may ignore an offer to upgrade: the request is an HTTP/1.1 request (RFC 9110, 7.8)."""

import json
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from contract_tests.conformance.world import Sandbox, new_recipient, text_to
from contract_tests.harness import Customer, Gateway
from contract_tests.raw_http import Request, Wire

OFFER = (
    (b"Connection", b"Upgrade, HTTP2-Settings"),
    (b"HTTP2-Settings", b"AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA"),
    (b"Upgrade", b"h2c"),
)
WEBSOCKET = (
    (b"Connection", b"Upgrade"),
    (b"Upgrade", b"websocket"),
    (b"Sec-WebSocket-Version", b"13"),
    (b"Sec-WebSocket-Key", b"AAAAAAAAAAAAAAAAAAAAAA=="),
)


@pytest.fixture
def wire(gateway: Gateway) -> Iterator[Wire]:
    """A persistent connection to the service."""
    with closing(Wire(gateway.port)) as wire:
        yield wire


def request(customer: Customer, method: bytes, path: bytes, body: object = None) -> Request:
    """A request of the customer like that of Java's HTTP client."""
    key = f"Bearer {customer.key}".encode()
    headers = ((b"Host", b"localhost"), (b"Authorization", key), *OFFER)
    if body is None:
        return Request(method, path, headers)
    return Request(
        method, path, (*headers, (b"Content-Type", b"application/json")), json.dumps(body).encode()
    )


def test_a_send_that_offers_an_upgrade_works(
    wire: Wire, customer: Customer, sandbox: Sandbox
) -> None:
    """The body is read, and the next request of the connection too."""
    for _ in range(2):
        to = new_recipient()
        body = text_to(customer.number["id"], to)
        answer = wire.exchange(request(customer, b"POST", b"/api/messages/send", body).encode())
        assert answer is not None
        assert (answer.status, answer.json["status"]) == (200, "sent")
        assert [message["id"] for message in sandbox.accepted(to)] == [answer.json["wa_message_id"]]


def test_a_websocket_offer_gets_the_response_of_the_plain_request(
    wire: Wire, customer: Customer
) -> None:
    """Without a key 401 in the common error shape. The connection stays HTTP/1.1."""
    headers = ((b"Host", b"localhost"), *WEBSOCKET)
    refused = wire.exchange(Request(b"GET", b"/api/numbers", headers).encode())
    assert refused is not None
    assert (refused.status, refused.json["error"]["code"]) == (401, "UNAUTHORIZED")
    listed = wire.exchange(request(customer, b"GET", b"/api/numbers").encode())
    assert listed is not None
    assert (listed.status, listed.json["pagination"]["offset"]) == (200, 0)


def test_the_sandbox_ignores_upgrade_offers_too(gateway: Gateway, customer: Customer) -> None:
    """The sandbox is an HTTP/1.1 network for authors of clients."""
    body = {"to": customer.number["phoneNumber"], "from": new_recipient(), "text": "Hello"}
    with closing(Wire(urlsplit(gateway.sandbox).port or 0)) as wire:
        for _ in range(2):
            raw = request(customer, b"POST", b"/_sandbox/inbound", body | {"type": "text"}).encode()
            answer = wire.exchange(raw)
            assert answer is not None
            assert answer.json["id"].startswith("wamid.")
