"""An API client that checks every exchange against the contract.

openapi-core, a second reader of openapi.yaml that shares no code with the service, checks each request
that is meant to be valid, and every response with its headers. The rules for every response
(error shape, rate limit headers, dates, phone numbers) are checked here too.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

import requests
import yaml
from openapi_core import OpenAPI
from openapi_core.contrib.requests import RequestsOpenAPIRequest, RequestsOpenAPIResponse
from openapi_core.exceptions import OpenAPIError

from contract_tests.contract import error_codes, load_contract, strict_text
from contract_tests.harness import WAIT_SECONDS

# What the network said about an error.
NETWORK_DETAILS = {
    "networkCode",
    "networkTitle",
    "networkMessage",
    "networkDetails",
    "networkTraceId",
    "networkRestriction",
    "networkRestrictedUntil",
}
# The statuses of requests that the contract itself does not allow.
MISFITS = {400, 401, 405, 413, 415, 431}
DATES = {
    "activatedAt",
    "at",
    "completedAt",
    "createdAt",
    "expiresAt",
    "nextAttemptAt",
    "startedAt",
    "timestamp",
    "updatedAt",
}
PEOPLE, PHONES = {"fromNumber", "toNumber"}, {"phoneNumber"}
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
PHONE = re.compile(r"[1-9]\d{6,14}", re.ASCII)
# The user id replaces an unknown phone number.
PERSON = re.compile(r"[1-9]\d{6,14}|[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII)
NUMERAL = re.compile(r"\d+", re.ASCII)
RATE_LIMIT = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
WINDOW_SECONDS = 60


class _Request(RequestsOpenAPIRequest):
    """A request as it was sent. ``method`` replaces its method with one that the path has."""

    def __init__(self, request: requests.PreparedRequest, method: str | None = None) -> None:
        super().__init__(request)
        self._method = method

    @property
    def method(self) -> str:
        return self._method or super().method

    @property
    def body(self) -> bytes | None:
        # A streamed body is no longer available.
        return super().body if isinstance(self.request.body, str | bytes) else None


class Contract:
    """openapi.yaml, as openapi-core reads it."""

    def __init__(self) -> None:
        self.document = load_contract()
        strict: dict[str, Any] = yaml.load(strict_text(), Loader=yaml.CSafeLoader)
        self._openapi = OpenAPI.from_dict(strict)

    def check_request(self, request: requests.PreparedRequest) -> None:
        """Raise unless the contract allows the request."""
        self._openapi.validate_request(_Request(request))

    def refuses(self, request: requests.PreparedRequest) -> bool:
        """Whether the contract does not allow the request."""
        try:
            self.check_request(request)
        except OpenAPIError:
            return True
        return False

    def check_response(self, response: requests.Response) -> None:
        """Raise unless the contract describes the response: status, headers and body."""
        request = _Request(response.request)
        if response.status_code == requests.codes.method_not_allowed:
            # The contract describes 405 under the methods that the path has.
            request = _Request(response.request, self._a_method_of(request.path))
        self._openapi.validate_response(request, RequestsOpenAPIResponse(response))

    def _a_method_of(self, path: str) -> str:
        for template, item in self.document["paths"].items():
            if re.fullmatch("/api" + re.sub(r"\{[^}]+\}", "[^/]+", template), path):
                return next(str(key) for key in item if key != "parameters")
        raise AssertionError(f"{path} is not in the contract")


class Api:
    """The API as one caller sees it. ``key`` is None for a caller without a key."""

    def __init__(self, base: str, key: str | None, contract: Contract) -> None:
        self.base = base
        self.key = key
        self.contract = contract

    def call(
        self, method: str, path: str, expect: int, *, fits: bool | None = None, **request: Any
    ) -> requests.Response:
        """Make a request and check the exchange. The response must have the status ``expect``.

        ``fits`` says whether the contract allows the request. The default depends on the status.
        """
        authorization = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        headers = authorization | request.pop("headers", {})
        response = requests.request(
            method,
            f"{self.base}{path}",
            headers=headers,
            timeout=WAIT_SECONDS,
            allow_redirects=False,
            **request,
        )
        told = f"{method} {path}: {response.status_code} {response.content[:500]!r}"
        assert response.status_code == expect, told
        # First: it compares times with now, and checking a large body takes a while.
        check_conventions(response)
        if fits if fits is not None else expect not in MISFITS:
            self.contract.check_request(response.request)
        self.contract.check_response(response)
        return response

    def get(self, path: str, expect: int = 200, **request: Any) -> Any:
        """GET. Returns the JSON of the response."""
        return self.call("GET", path, expect, **request).json()

    def post(self, path: str, expect: int = 200, **request: Any) -> Any:
        """POST. Returns the JSON of the response."""
        return self.call("POST", path, expect, **request).json()


def check_conventions(response: requests.Response) -> None:
    """Check the rules for every response."""
    check_rate_limit(response)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == ("private" if is_file(response) else "no-store")
    if response.status_code == requests.codes.no_content:
        assert response.content == b""
        return
    if is_file(response):
        return
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Content-Disposition"] == 'attachment; filename="api.json"'
    body = response.json()
    check_values(body)
    if response.status_code >= requests.codes.bad_request:
        check_error(response, response.status_code)


def is_file(response: requests.Response) -> bool:
    """Whether this is the only response that is not JSON: the bytes of a message's media."""
    path = (response.request.url or "").partition("?")[0]
    return response.ok and path.endswith("/media") and response.request.method == "GET"


def check_rate_limit(response: requests.Response) -> None:
    """Rate limit headers: three integers on every response, the last a Unix time."""
    limit, remaining, reset = (response.headers[name] for name in RATE_LIMIT)
    assert all(NUMERAL.fullmatch(value) for value in (limit, remaining, reset))
    assert 0 <= int(remaining) <= int(limit)
    asked_at = time.time() - response.elapsed.total_seconds()
    assert asked_at - 1 <= int(reset) <= time.time() + WINDOW_SECONDS + 1


def check_error(response: requests.Response, status: int) -> str:
    """Check the only body shape of errors. Returns the message."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "status", "details"}
    details = body["error"]["details"]
    named = {name for name in details if not name.startswith("network")}
    assert named <= {"field", "messageId", "help"}
    assert details.keys() - named <= NETWORK_DETAILS
    assert details["help"].endswith(f"/api/errors/#{error_codes()[status]}")
    assert body["error"]["code"] == error_codes()[status]
    assert body["error"]["status"] == status
    message = body["error"]["message"]
    assert isinstance(message, str)
    assert message.strip()
    return message


def check_values(body: Any) -> None:
    """Check the form of dates and phone numbers."""
    for name, value in _fields(body):
        if name in DATES and value is not None:
            assert DATE.fullmatch(value), f"{name} is {value!r}"
        if name in PHONES:
            assert PHONE.fullmatch(value), f"{name} is {value!r}"
        if name in PEOPLE:
            assert PERSON.fullmatch(value), f"{name} is {value!r}"


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
        # The content of a message has the network's forms.
        for child in (each for name, each in value.items() if name != "body"):
            yield from _fields(child)
    if isinstance(value, list):
        for child in value:
            yield from _fields(child)
