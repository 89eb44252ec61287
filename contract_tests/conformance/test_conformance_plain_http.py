"""Valid HTTP that no HTTP library sends.

Input that is not HTTP gets the error shape: contract_tests/bad_protocol.py.
"""

import pytest

from contract_tests.conformance.exchange import Api, check_rate_limit
from contract_tests.conformance.wire import Wire, head
from contract_tests.harness import Gateway


@pytest.fixture
def wire(gateway: Gateway) -> Wire:
    """Raw connections to the service."""
    return Wire.to(gateway)


@pytest.mark.parametrize("target", ["/api/numbers/%ff", "/api/numbers/%zz", "/api/numbers/%00"])
def test_a_malformed_path_names_no_resource(wire: Wire, api: Api, target: str) -> None:
    """A client error, never a crash."""
    response = wire.exchange(head("GET", target, api.key))
    check_rate_limit(response)
    assert response.status_code in {400, 404}
    assert set(response.json()) == {"error"}


def test_a_request_of_http_1_0_is_answered(wire: Wire, api: Api) -> None:
    """HTTP/1.0 clients are supported."""
    request = f"GET /api/numbers HTTP/1.0\r\nAuthorization: Bearer {api.key}\r\n\r\n"
    response = wire.exchange(request.encode())
    assert response.status_code == 200
    check_rate_limit(response)


def test_a_target_in_absolute_form_is_answered(wire: Wire, api: Api) -> None:
    """A server accepts the absolute form that proxies get (RFC 9112, 3.2.2)."""
    assert wire.exchange(head("GET", "http://localhost/api/numbers", api.key)).status_code == 200


def test_a_client_that_waits_for_continue_gets_it(wire: Wire, api: Api) -> None:
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
