"""The delivery policy of the running service: the deadline, responses, headers, and no proxy."""

import gzip
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.harness import (
    Customer,
    Gateway,
    Received,
    Receiver,
    Reply,
    free_port,
    running,
    wait_for,
)
from contract_tests.scripted_receiver import ScriptedReceiver
from webhooks.reasons import COULD_NOT_CONNECT, NO_RESPONSE

TIMEOUT = 3
# The first retry comes at once, the second not before the tests end.
SETTINGS = {
    "GATEWAY_DELIVERY_TIMEOUT": str(TIMEOUT),
    "GATEWAY_RETRY_SCHEDULE": "0.2,600,600",
}
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def traps() -> Iterator[Receiver]:
    """A proxy that no part may use."""
    server = Receiver()
    yield server
    server.close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, traps: Receiver) -> Iterator[Gateway]:
    """A service whose environment has a proxy and credentials."""
    home: Path = tmp_path_factory.mktemp("home")
    (home / ".netrc").write_text("machine 127.0.0.1 login someone password secret\n")
    names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    environment = dict.fromkeys(names, traps.url("")) | {
        "HOME": str(home),
        "NETRC": str(home / ".netrc"),
        "NO_PROXY": "",
        "no_proxy": "",
    }
    with running(tmp_path_factory.mktemp("gateway"), **SETTINGS, **environment) as service:
        # The service runs with these variables. The test's own commands, which call the sandbox, do not.
        for name in environment:
            del service.environment[name]
        yield service


@pytest.fixture
def scripted() -> Iterator[ScriptedReceiver]:
    """A receiver whose responses are written byte by byte."""
    server = ScriptedReceiver()
    yield server
    server.close()


def _subscribe(customer: Customer, url: str) -> str:
    body = {"url": url, "events": ["message.sent"]}
    made = customer.request("POST", "/webhooks", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def _deliver(customer: Customer, urls: list[str]) -> list[str]:
    """Send a message with an event for each of the addresses. Returns the webhooks' identifiers."""
    webhook_ids = [_subscribe(customer, url) for url in urls]
    assert customer.send("15551234567").status_code == 200
    return webhook_ids


def _attempts(customer: Customer, webhook_id: str, count: int = 1) -> list[dict[str, Any]]:
    """The attempts of the webhook's only delivery, once there are ``count``."""

    def probe() -> list[dict[str, Any]]:
        page = customer.request("GET", f"/webhooks/{webhook_id}/deliveries").json()["data"]
        if not page:
            return []
        delivery = customer.request("GET", f"/deliveries/{page[0]['id']}").json()
        made: list[dict[str, Any]] = delivery["attempts"]
        return made if len(made) >= count else []

    return wait_for(probe, f"{count} attempts")


@pytest.fixture
def customer(gateway: Gateway) -> Customer:
    """A separate account for each test, so that its events reach no other test's webhooks."""
    return gateway.customer()


def test_the_deadline_bounds_the_exchange_with_slow_receivers(
    customer: Customer, scripted: ScriptedReceiver
) -> None:
    """One byte a second in the head, or no byte at all."""
    urls = [
        scripted.url("/status-line", scripted.drip(b"HTTP/1.1 2", b"0")),
        scripted.url("/headers", scripted.drip(OK, b"x")),
        scripted.url("/silence"),
    ]
    for webhook_id in _deliver(customer, urls):
        attempt = _attempts(customer, webhook_id)[0]
        assert (attempt["success"], attempt["statusCode"]) == (False, None)
        assert f" {TIMEOUT} s" in attempt["error"]
        # A timer may fire a millisecond early.
        assert TIMEOUT - 0.01 <= attempt["durationMs"] / 1000 < TIMEOUT + 2
        assert attempt["responseBody"] is None


def test_a_slow_body_after_the_status_is_no_failure(
    customer: Customer, scripted: ScriptedReceiver
) -> None:
    url = scripted.url("/body", scripted.drip(OK + b"Content-Length: 100\r\n\r\n", b"x"))
    [webhook_id] = _deliver(customer, [url])
    [attempt] = _attempts(customer, webhook_id)
    assert (attempt["success"], attempt["statusCode"]) == (True, 200)
    assert attempt["durationMs"] / 1000 < TIMEOUT


def test_only_the_start_of_long_or_compressed_responses_is_stored(
    customer: Customer, scripted: ScriptedReceiver
) -> None:
    bomb = gzip.compress(b"a" * 50_000_000)
    length = b"Content-Length: %d\r\n\r\n"

    def pour() -> Iterator[bytes]:
        yield OK + b"\r\n"
        while not scripted.closing.is_set():
            yield b"a" * 1024

    urls = [
        scripted.url("/endless", pour),
        scripted.url("/long", lambda: [OK, length % 16_384, b"a" * 16_384]),
        scripted.url(
            "/bomb", lambda: [OK, b"Content-Encoding: gzip\r\n", length % len(bomb), bomb]
        ),
    ]
    for webhook_id in _deliver(customer, urls):
        [attempt] = _attempts(customer, webhook_id)
        assert (attempt["success"], attempt["statusCode"]) == (True, 200)
        assert attempt["responseBody"] == "a" * 1024
    # The buffers between the two hold data that was never read.
    assert scripted.written["/endless"] < 32 * 1024 * 1024


def test_each_attempt_has_exactly_the_documented_headers(
    customer: Customer, receiver: Receiver, traps: Receiver
) -> None:
    def fail_and_leave_a_cookie(_: Received) -> Reply:
        return Reply(500, {"Set-Cookie": "session=1; Path=/"})

    receiver.reply = fail_and_leave_a_cookie
    made = customer.request(
        "POST", "/webhooks", json={"url": receiver.url(), "events": ["message.sent"]}
    ).json()
    before = int(time.time())
    assert customer.send("15551234567").status_code == 200
    first, second = receiver.wait(count=2)
    [delivery] = customer.request("GET", f"/webhooks/{made['id']}/deliveries").json()["data"]
    for number, request in enumerate((first, second), start=1):
        assert request.method == "POST"
        assert request.is_signed_with(made["secret"])
        headers = dict(request.headers)
        assert re.fullmatch(r"sha256=[0-9a-f]{64}", headers.pop("x-service-signature"))
        assert re.fullmatch(r"v1,[A-Za-z0-9+/]{43}=", headers.pop("webhook-signature"))
        assert headers.pop("webhook-timestamp") == headers["x-service-timestamp"]
        assert before <= int(headers.pop("x-service-timestamp")) <= time.time()
        assert re.fullmatch(r"MessagingGateway/\d+\.\d+\.\d+\S*", headers.pop("user-agent"))
        assert headers == {
            "host": receiver.host,
            "accept": "*/*",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "content-length": str(len(request.body)),
            "webhook-id": delivery["eventId"],
            "x-service-event": "message.sent",
            "x-service-delivery": delivery["id"],
            "x-service-attempt": str(number),
        }
    assert first.body == second.body
    shown = customer.request("GET", f"/deliveries/{delivery['id']}").json()["payload"]
    [recorded] = customer.request("GET", "/events?event=message.sent").json()["data"]
    assert first.event == shown == {name: recorded[name] for name in shown}
    assert [*shown] == ["id", "event", "timestamp", "data"]
    assert shown["id"] == delivery["eventId"]
    assert traps.requests == []


def test_a_failure_has_a_readable_reason(customer: Customer) -> None:
    port = free_port()
    urls = [f"http://127.0.0.1:{port}/", f"https://127.0.0.1:{port}/"]
    for webhook_id in _deliver(customer, urls):
        attempt = _attempts(customer, webhook_id)[0]
        assert attempt["error"] == f"{NO_RESPONSE}{COULD_NOT_CONNECT}"
