"""What the clients repeat, what they never repeat, and what they raise."""

import json
import threading
import time
from typing import Any

import pytest

from contract_tests.harness import free_port
from contract_tests.sdk.drivers import Driver
from contract_tests.sdk.hostile_server import HostileServer, json_response, refusal, response
from messaging_gateway_client import (
    AuthenticationError,
    Client,
    ConflictError,
    GatewayError,
    InvalidRequestError,
    NoResponseError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    ServerError,
)

SENT = json_response("200 OK", b'{"id":"msg_1","wa_message_id":"wamid.1","status":"sent"}')
MESSAGE = {"number_id": "num_1", "to": "15551234567", "type": "text", "text": {"body": "Hello"}}
THROTTLED = refusal("429 Too Many Requests", "RATE_LIMITED", Retry_After="0")
UNAVAILABLE = refusal("503 Service Unavailable", "SERVICE_UNAVAILABLE", Retry_After="0")
FAILED = refusal("500 Internal Server Error", "INTERNAL_ERROR")
CUT = SENT[:-5]


@pytest.mark.parametrize(
    "first", [THROTTLED, UNAVAILABLE, FAILED, CUT, b"", response("200 OK", b"<html>")]
)
def test_a_send_is_repeated_under_one_key(
    driver: Driver, server: HostileServer, first: bytes
) -> None:
    server.play(first, SENT)
    assert driver.call(server.url, "send_message", MESSAGE)["id"] == "msg_1"
    first_key, second_key = [seen.headers["idempotency-key"] for seen in server.seen]
    assert first_key == second_key


def test_each_send_has_a_key_of_its_own(driver: Driver, server: HostileServer) -> None:
    server.play(SENT)
    for _ in range(2):
        driver.call(server.url, "send_message", MESSAGE)
    driver.call(server.url, "send_message", MESSAGE, idempotency_key="order-1")
    keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert len(set(keys)) == 3
    assert keys[2] == "order-1"


def test_a_first_request_that_is_still_running_is_awaited(
    driver: Driver, server: HostileServer
) -> None:
    server.play(refusal("409 Conflict", "CONFLICT", Retry_After="0"), SENT)
    assert driver.call(server.url, "send_message", MESSAGE)["id"] == "msg_1"


@pytest.mark.parametrize(
    "only",
    [
        refusal("409 Conflict", "CONFLICT"),
        refusal("400 Bad Request", "VALIDATION_ERROR"),
        refusal("500 Internal Server Error", "INTERNAL_ERROR", Idempotency_Replayed="true"),
    ],
)
def test_a_final_outcome_is_not_repeated(
    driver: Driver, server: HostileServer, only: bytes
) -> None:
    server.play(only, SENT)
    with pytest.raises(GatewayError):
        driver.call(server.url, "send_message", MESSAGE)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "first",
    [
        FAILED,
        CUT,
        b"",
        refusal("429 Too Many Requests", "RATE_LIMITED"),
        # Only the gateway knows that it did nothing.
        response("503 Service Unavailable", b"proxy", Retry_After="0"),
        response("302 Found", b"<html>"),
    ],
)
@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("redeliver_delivery", ["dlv_1"]),
        ("delete_webhook", ["wh_1"]),
        ("update_webhook", ["wh_1", {}]),
    ],
)
def test_a_change_without_a_key_is_not_repeated_once_it_may_have_arrived(
    driver: Driver, server: HostileServer, first: bytes, operation: str, values: list[Any]
) -> None:
    server.play(first, response("500 Twice"))
    with pytest.raises(GatewayError):
        driver.call(server.url, operation, *values)
    assert len(server.seen) == 1


def test_a_change_is_not_repeated_after_a_foreign_success(
    driver: Driver, server: HostileServer
) -> None:
    server.play(response("200 OK", b"<html>"), json_response("200 OK", b"{}"))
    with pytest.raises(NoResponseError) as caught:
        driver.call(server.url, "redeliver_delivery", "dlv_1")
    assert caught.value.may_have_arrived
    assert len(server.seen) == 1


@pytest.mark.parametrize("first", [THROTTLED, UNAVAILABLE])
def test_a_change_without_a_key_is_repeated_if_nothing_was_done(
    driver: Driver, server: HostileServer, first: bytes
) -> None:
    server.play(first, json_response("200 OK", b'{"id":"dlv_1"}'))
    assert driver.call(server.url, "redeliver_delivery", "dlv_1")["id"] == "dlv_1"


def test_a_change_is_repeated_until_somebody_listens(driver: Driver) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/api"
    with pytest.raises(NoResponseError) as caught:
        driver.call(url, "redeliver_delivery", "dlv_1", options={"attempts": 2})
    assert not caught.value.may_have_arrived
    servers: list[HostileServer] = []
    timer = threading.Timer(0.3, lambda: servers.append(HostileServer(port)))
    timer.start()
    driver.call(url, "redeliver_delivery", "dlv_1", options={"attempts": 100})
    timer.join()
    assert len(servers[0].seen) == 1
    servers[0].close()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("400 Bad Request", InvalidRequestError),
        ("401 Unauthorized", AuthenticationError),
        ("403 Forbidden", PermissionDeniedError),
        ("404 Not Found", NotFoundError),
        ("409 Conflict", ConflictError),
        ("413 Too Large", GatewayError),
        ("429 Too Many Requests", RateLimitedError),
        ("500 Internal Server Error", ServerError),
    ],
)
def test_an_error_has_the_fields_of_the_contract(
    driver: Driver, server: HostileServer, status: str, kind: type[GatewayError]
) -> None:
    fields = {"code": "SOME_CODE", "message": "Text.", "status": int(status[:3])}
    body = json.dumps({"error": {**fields, "details": {"field": "/to"}}})
    server.play(json_response(status, body.encode(), X_Request_Id="req_1", Retry_After="90"))
    with pytest.raises(GatewayError) as caught:
        driver.call(server.url, "get_number", "num_1")
    error = caught.value
    assert type(error) is kind
    assert (error.code, error.message, error.status) == ("SOME_CODE", "Text.", int(status[:3]))
    assert (error.details, error.request_id, error.retry_after) == ({"field": "/to"}, "req_1", 90)


def test_retry_after_is_waited(driver: Driver, server: HostileServer) -> None:
    server.play(refusal("429 Too Many Requests", "RATE_LIMITED", Retry_After="1"), SENT)
    before = time.monotonic()
    driver.call(server.url, "send_message", MESSAGE)
    assert time.monotonic() - before >= 1


@pytest.mark.parametrize("seconds", ["61", "9" * 400])
def test_a_retry_after_beyond_the_deadline_is_raised_at_once(
    driver: Driver, server: HostileServer, seconds: str
) -> None:
    server.play(refusal("429 Too Many Requests", "RATE_LIMITED", Retry_After=seconds), SENT)
    before = time.monotonic()
    with pytest.raises(RateLimitedError):
        driver.call(server.url, "send_message", MESSAGE)
    assert time.monotonic() - before < 30
    assert len(server.seen) == 1


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_a_value_that_would_name_another_path_is_refused(
    driver: Driver, server: HostileServer, value: str
) -> None:
    with pytest.raises(ValueError, match="contact_id"):
        driver.call(server.url, "delete_contact", value)
    assert not server.seen


def test_values_are_quoted_in_paths_and_queries(driver: Driver, server: HostileServer) -> None:
    server.play(json_response("200 OK", b'{"data":[],"nextCursor":""}'))
    driver.call(server.url, "get_number", "a/b?c")
    kinds = ["message.read", "message.failed"]
    driver.call(server.url, "list_events", event=kinds, since="2026-11-20T00:00:00+01:00")
    first, second = [seen.target for seen in server.seen]
    assert first == "/api/numbers/a%2Fb%3Fc"
    assert "event=message.read%2Cmessage.failed" in second
    assert "%2B01" in second


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("gateway.example.com", "mk"),
        ("https://h/api?x=1", "mk"),
        ("https://h/api", "mk\n"),
        ("https://h", ""),
    ],
)
def test_a_wrong_address_or_key_is_refused(url: str, key: str) -> None:
    with pytest.raises(ValueError, match=r"no address|API key"):
        Client(url, key)


def test_a_redirect_is_not_followed(driver: Driver, server: HostileServer) -> None:
    server.play(response("302 Found", Location=server.url + "/numbers/other"))
    with pytest.raises(NoResponseError) as caught:
        driver.call(server.url, "get_number", "num_1")
    assert caught.value.status == 302
    assert len(server.seen) == 1
