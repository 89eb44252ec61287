"""Tests of this suite's own checks: they reject responses and events that break the contract."""

import json
from typing import Any

import pytest
import requests
from openapi_core.exceptions import OpenAPIError
from requests.structures import CaseInsensitiveDict

from contract_tests.conformance.events import Callbacks, digest
from contract_tests.conformance.exchange import Contract, check_values
from contract_tests.contract import error_codes
from contract_tests.harness import Received

HEADERS = {
    "Content-Type": "application/json",
    "X-RateLimit-Limit": "100",
    "X-RateLimit-Remaining": "99",
    "X-RateLimit-Reset": "1795167060",
    "X-Request-Id": "a-request",
}
NUMBER: dict[str, Any] = {
    "id": "num_1",
    "phoneNumber": "15551234567",
    "displayName": None,
    "status": "ACTIVE",
    "createdAt": "2026-11-20T09:00:00.000Z",
    "activatedAt": None,
    "qualityRating": None,
    "messagingLimit": None,
    "statusReason": None,
    "notice": None,
    "problems": [],
}
SECRET = "whsec_made-up"
DELIVERY = {
    "content-type": "application/json",
    "x-service-delivery": "dlv_1",
    "x-service-attempt": "1",
    "x-service-timestamp": "1795167060",
    "webhook-id": "evt_1",
    "webhook-timestamp": "1795167060",
    "webhook-signature": "v1," + "A" * 43 + "=",
}


def answer(
    status: int, body: Any, headers: dict[str, str] | None = None, method: str = "GET"
) -> requests.Response:
    """A response to a request for a number."""
    response = requests.Response()
    response.status_code = status
    response.headers = CaseInsensitiveDict(HEADERS | (headers or {}))
    response._content = json.dumps(body).encode()
    request = requests.Request(method, "http://localhost/api/numbers/num_1")
    response.request = request.prepare()
    return response


def error(status: int, **changes: Any) -> dict[str, Any]:
    """The body of an error."""
    return {
        "error": {"code": error_codes()[status], "message": "Gone.", "status": status} | changes
    }


def delivery(
    kind: str, data: dict[str, Any], headers: dict[str, str] | None = None, secret: str = SECRET
) -> Received:
    """A delivery as a receiver sees it."""
    event = {"id": "evt_1", "event": kind, "timestamp": "2026-11-20T09:00:00.000Z", "data": data}
    body = json.dumps(event).encode()
    signed = DELIVERY | {"x-service-event": kind, "x-service-signature": digest(secret, body)}
    return Received("/hook", signed | (headers or {}), body, at=0)


def test_an_exchange_that_fits_the_contract_passes(
    contract: Contract, callbacks: Callbacks
) -> None:
    contract.check_response(answer(200, NUMBER))
    contract.check_response(answer(401, error(401), {"WWW-Authenticate": "Bearer"}))
    contract.check_response(answer(404, error(404)))
    contract.check_response(answer(405, error(405), {"Allow": "GET, HEAD"}, method="PUT"))
    contract.check_response(answer(429, error(429), {"Retry-After": "42"}))
    callbacks.check(delivery("number.activated", NUMBER), SECRET)


@pytest.mark.parametrize("name", [name for name in HEADERS if name.startswith("X-RateLimit-")])
@pytest.mark.parametrize("value", [None, "", "soon", "-1", "1.5"])
def test_a_rate_limit_header_that_is_no_integer_fails_the_check(
    contract: Contract, name: str, value: str | None
) -> None:
    response = answer(200, NUMBER, {name: value or ""})
    if value is None:
        del response.headers[name]
    with pytest.raises(OpenAPIError):
        contract.check_response(response)


@pytest.mark.parametrize(
    "response",
    [
        answer(200, NUMBER | {"status": "GONE"}),
        answer(200, NUMBER | {"createdAt": "yesterday"}),
        answer(200, NUMBER | {"phoneNumber": "+15551234567"}),
        answer(200, {"id": "num_1"}),
        answer(200, [NUMBER]),
        answer(200, NUMBER, {"Content-Type": "text/html"}),
        answer(404, error(404, code="GONE")),
        answer(404, {"title": "Not Found"}),
        answer(404, error(404), {"X-Request-Id": "with a blank"}),
        answer(401, error(401)),
        answer(418, error(404)),
        answer(405, error(405), method="PUT"),
        answer(429, error(429)),
        answer(429, error(429), {"Retry-After": "0"}),
    ],
    ids=range(14),
)
def test_a_response_that_breaks_the_contract_fails_the_check(
    contract: Contract, response: requests.Response
) -> None:
    with pytest.raises(OpenAPIError):
        contract.check_response(response)


@pytest.mark.parametrize(
    "received",
    [
        delivery("number.activated", NUMBER | {"status": "GONE"}),
        delivery("number.gone", NUMBER),
        delivery("message.sent", NUMBER),
        delivery("number.activated", NUMBER, {"content-type": "text/plain"}),
    ],
    ids=["data", "kind", "another kind's data", "content type"],
)
def test_an_event_that_breaks_the_contract_fails_the_check(
    callbacks: Callbacks, received: Received
) -> None:
    with pytest.raises(OpenAPIError):
        callbacks.check(received, SECRET)


@pytest.mark.parametrize("name", ["x-service-signature", "x-service-event", *DELIVERY])
def test_an_event_without_one_of_its_headers_fails_the_check(
    callbacks: Callbacks, name: str
) -> None:
    received = delivery("number.activated", NUMBER)
    del received.headers[name]
    with pytest.raises((OpenAPIError, KeyError)):
        callbacks.check(received, SECRET)


def test_a_wrong_signature_fails_the_check(callbacks: Callbacks) -> None:
    with pytest.raises(AssertionError):
        callbacks.check(delivery("number.activated", NUMBER, secret="whsec_other"), SECRET)


@pytest.mark.parametrize(
    "wrong", ["2026-11-20T09:00:00Z", "2026-11-20T09:00:00.000+00:00", "2026-11-20 09:00:00.000Z"]
)
def test_a_date_in_another_form_fails_the_check(wrong: str) -> None:
    with pytest.raises(AssertionError):
        check_values({"data": [NUMBER | {"createdAt": wrong}]})
