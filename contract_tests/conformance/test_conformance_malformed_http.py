"""Specification, Errors, below HTTP libraries: what is no HTTP gets the one error shape too."""

import json

import pytest

from contract_tests.conformance.exchange import Api, check_rate_limit
from contract_tests.conformance.wire import Wire, head
from contract_tests.conformance.world import new_recipient, text_to
from contract_tests.harness import Gateway

HEADER_LIMIT = 32 * 1024
MALFORMED = {
    "no HTTP": b"hello\r\n\r\n",
    "an unknown version": b"GET /api/numbers HTTP/9.9\r\nHost: x\r\n\r\n",
    "an unknown method": b"BREW /api/numbers HTTP/1.1\r\nHost: x\r\n\r\n",
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "a header without a colon": b"GET /api/numbers HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n",
    "a header name with a blank": b"GET /api/numbers HTTP/1.1\r\nHo st: x\r\n\r\n",
    "a length that is none": b"POST /api/webhooks HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
    "a negative length": b"POST /api/webhooks HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST /api/webhooks HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "length and chunks": b"POST /api/webhooks HTTP/1.1\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk without a size": b"POST /api/webhooks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.fixture
def wire(gateway: Gateway) -> Wire:
    """Raw connections to the service."""
    return Wire.to(gateway)


@pytest.mark.parametrize("request_bytes", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_http_gets_an_error_of_the_one_shape(wire: Wire, request_bytes: bytes) -> None:
    """'Body shape for every error', with the rate limit headers of every response."""
    wire.refused(request_bytes, 400)


@pytest.mark.parametrize("sizes", [[HEADER_LIMIT], [1024] * 33], ids=["one", "many"])
def test_headers_without_end_are_refused(wire: Wire, api: Api, sizes: list[int]) -> None:
    """Beyond the specification: 431 past 32 KiB."""
    headers = {f"X-Padding-{i}": "x" * size for i, size in enumerate(sizes)}
    wire.refused(head("GET", "/api/numbers", api.key, **headers), 431)


def test_a_request_line_without_end_is_refused(wire: Wire, api: Api) -> None:
    """The same."""
    wire.refused(head("GET", "/api/numbers?limit=" + "1" * HEADER_LIMIT, api.key), 431)


@pytest.mark.parametrize("target", ["/api/numbers/%ff", "/api/numbers/%zz", "/api/numbers/%00"])
def test_a_path_that_cannot_be_read_names_no_resource(wire: Wire, api: Api, target: str) -> None:
    """An error of the client's, never a crash."""
    response = wire.exchange(head("GET", target, api.key))
    check_rate_limit(response)
    assert response.status_code in {400, 404}
    assert set(response.json()) == {"error"}


def test_a_request_of_http_1_0_is_answered(wire: Wire, api: Api) -> None:
    """An old client is a client."""
    request = f"GET /api/numbers HTTP/1.0\r\nAuthorization: Bearer {api.key}\r\n\r\n"
    response = wire.exchange(request.encode())
    assert response.status_code == 200
    check_rate_limit(response)


def test_a_target_in_absolute_form_is_answered(wire: Wire, api: Api) -> None:
    """A server takes what is sent to a proxy (RFC 9112, 3.2.2)."""
    assert wire.exchange(head("GET", "http://localhost/api/numbers", api.key)).status_code == 200


def test_two_authorization_headers_are_no_key(wire: Wire, api: Api) -> None:
    """Which of them counts is anyone's guess, so neither does."""
    twice = head("GET", "/api/numbers", api.key, Authorization=f"Bearer {api.key}")
    wire.refused(twice, 401)


@pytest.mark.parametrize("types", [("application/json", "text/plain"), ("text/plain", "text/xml")])
def test_two_content_types_are_none(
    wire: Wire, api: Api, number: dict[str, str], types: tuple[str, str]
) -> None:
    """An error of the client's, never a crash, and never sent."""
    body = json.dumps(text_to(number["id"], new_recipient())).encode()
    first, second = types
    lines = head(
        "POST", "/api/messages/send", api.key, Content_Type=first, Content_Length=len(body)
    ).removesuffix(b"\r\n")
    request = lines + f"Content-Type: {second}\r\n\r\n".encode() + body
    wire.refused(request, 415)


def test_a_client_that_waits_for_continue_is_told_to(wire: Wire, api: Api) -> None:
    """Expect: 100-continue, as HTTP defines it."""
    request = head(
        "POST",
        "/api/webhooks",
        api.key,
        Content_Type="application/json",
        Content_Length=2,
        Expect="100-continue",
    )
    wire.refused(request + b"{}", 400)
