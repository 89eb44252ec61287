"""The shipped configuration for nginx, run by Debian's nginx in front of a running gateway."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from requests import Request

from contract_tests.harness import ROOT, Customer, Gateway, free_port, wait_for
from contract_tests.nginx import Nginx
from contract_tests.raw_http import Answer
from contract_tests.server_process import HOST

MEBIBYTE = 1024 * 1024
SHIPPED = (ROOT / "deploy" / "nginx.conf").read_text()


@pytest.fixture(scope="module")
def proxy(gateway: Gateway) -> Iterator[Nginx]:
    """A proxy in front of the gateway."""
    with Nginx(SHIPPED, gateway.port) as server:
        yield server


def _signed_in(customer: Customer, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {customer.key}"} | more


def _check_error(answer: Answer, status: int, code: str) -> None:
    """An error of the API's shape, with the headers of every response, each once."""
    assert answer.status == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    error: dict[str, Any] = json.loads(answer.body)["error"]
    assert (error["code"], error["status"]) == (code, status)
    assert error["message"]


def test_a_send_through_nginx_has_its_headers(proxy: Nginx, customer: Customer) -> None:
    sent = {"number_id": customer.number["id"], "to": "15551234567", "type": "text"}
    body = json.dumps(sent | {"text": {"body": "Hello"}}).encode()
    given = {"Content-Type": "application/json", "X-Request-Id": "asked-by-me"}
    headers = _signed_in(customer, **given, **{"Idempotency-Key": f"nginx-{proxy.port}"})
    first, again = (proxy.ask("POST", "/api/messages/send", body, headers) for _ in range(2))
    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["x-request-id"] == "asked-by-me"
    assert int(first.headers["x-ratelimit-limit"]) > 0
    assert again.headers["idempotency-replayed"] == "true"


@pytest.mark.parametrize(
    ("path", "limit", "status"),
    [("/api/messages/send", 1, 401), ("/network/callback", 4, 401)],
)
def test_a_body_has_the_limit_of_its_path(proxy: Nginx, path: str, limit: int, status: int) -> None:
    assert proxy.ask("POST", path, b"x" * limit * MEBIBYTE).status == status
    assert proxy.ask("POST", path, b"x" * (limit * MEBIBYTE + 1)).status == 413


def test_an_upload_of_5_mib_passes(proxy: Nginx, customer: Customer) -> None:
    form = {"file": ("a document.pdf", bytes(5 * MEBIBYTE), "application/pdf")}
    upload = Request("POST", "http://unused", files=form).prepare()
    headers = _signed_in(customer, **{"Content-Type": upload.headers["Content-Type"]})
    path = f"/api/numbers/{customer.number['id']}/media"
    assert isinstance(upload.body, bytes)
    assert proxy.ask("POST", path, upload.body, headers).status == 200


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "/%6detrics", "//metrics"])
def test_endpoints_for_operators_are_closed_to_others(proxy: Nginx, path: str) -> None:
    assert proxy.ask("GET", path).status == 403
    assert proxy.ask("GET", path, headers={"X-Forwarded-For": HOST}).status == 403


@pytest.mark.parametrize("path", ["/metrics", "/readyz"])
def test_operators_on_the_machine_have_access(proxy: Nginx, path: str) -> None:
    assert proxy.ask("GET", path, source=HOST).status == 200


def test_a_client_without_a_key_is_limited_by_its_own_address(proxy: Nginx) -> None:
    def remaining(source: str, claimed: str) -> int:
        headers = {"X-Forwarded-For": claimed}
        answer = proxy.ask("GET", "/api/numbers", headers=headers, source=source)
        return int(answer.headers["x-ratelimit-remaining"])

    first = remaining("127.0.0.3", "203.0.113.7")
    assert remaining("127.0.0.4", "203.0.113.7") >= first
    assert remaining("127.0.0.3", "203.0.113.8") == first - 1


def test_nginxs_own_errors_have_the_error_shape(proxy: Nginx) -> None:
    length = {"Content-Length": str(102 * MEBIBYTE)}
    too_large = proxy.ask("POST", "/api/messages/send", headers=length)
    _check_error(too_large, 413, "PAYLOAD_TOO_LARGE")
    _check_error(proxy.ask("GET", "/metrics"), 403, "FORBIDDEN")
    header = proxy.ask("GET", "/api/numbers", headers={"X-Big": "x" * 40_000})
    _check_error(header, 431, "HEADERS_TOO_LARGE")
    _check_error(proxy.ask("GET", f"/api/{'x' * 40_000}"), 431, "HEADERS_TOO_LARGE")
    malformed = proxy.ask("POST", "/api/numbers", headers={"Content-Length": "many"})
    _check_error(malformed, 400, "VALIDATION_ERROR")


def test_an_unreachable_gateway_gives_the_error_shape() -> None:
    with Nginx(SHIPPED, free_port()) as proxy:
        _check_error(proxy.ask("GET", "/api/numbers"), 500, "INTERNAL_ERROR")


LINKS = ("/connect/", "/api/signup/", "/dashboard/invitation/", "/dashboard/password/")


def test_the_log_has_no_secret_addresses(proxy: Nginx) -> None:
    for path in LINKS:
        proxy.ask("GET", f"{path}tok-1")
    proxy.ask("GET", "/dashboard/sign-in?tok-4")
    log = proxy.folder / "gateway.log"
    wait_for(lambda: "sign-in" in log.read_text(), "the last line")
    text = log.read_text()
    for path in LINKS:
        assert f'"GET {path}*"' in text
    assert "tok-" not in text


def test_the_error_log_has_no_secret_addresses() -> None:
    with Nginx(SHIPPED, free_port()) as proxy:
        for path in (*LINKS, "/dashboard/keys"):
            assert proxy.ask("GET", f"{path}?tok-1").status == 500
            assert proxy.ask("GET", f"{path}/tok-2").status == 500
        logs = [proxy.folder / name for name in ("server.log", "error.log", "gateway.log")]
        text = "".join(log.read_text() for log in logs)
    assert "/dashboard/keys" in text
    assert [
        line for line in text.splitlines() if "tok-" in line and "/dashboard/keys" not in line
    ] == []
