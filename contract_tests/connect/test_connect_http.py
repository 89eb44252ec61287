"""What /connect answers to whatever is asked of it: pages for people, with the right status."""

from collections.abc import Mapping

import pytest
import requests

from contract_tests.connect.conftest import Link, NewLink
from contract_tests.connect.graph_proxy import GraphProxy
from contract_tests.harness import WAIT_SECONDS, Gateway

CLAIM = {"code": "AQinvented", "phone_number_id": "106", "waba_id": "524"}


@pytest.fixture(scope="module")
def link(new_link: NewLink) -> Link:
    """A link that nothing here uses up."""
    return new_link()


def _ask(gateway: Gateway, method: str, path: str, **given: object) -> requests.Response:
    url = f"{gateway.url}/connect/{path}"
    answer = requests.request(method, url, timeout=WAIT_SECONDS, **given)  # type: ignore[arg-type]
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "X-RateLimit-Remaining" in answer.headers
    return answer


def test_the_page_may_load_the_sdk_and_nothing_else_from_elsewhere(
    gateway: Gateway, proxy: GraphProxy, link: Link
) -> None:
    answer = _ask(gateway, "GET", link.slug)
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.count("http") == 1
    assert f" {proxy.url}" in policy
    assert "unsafe" not in policy
    assert answer.text.count("http") == 2, "the SDK and its origin, in data attributes"


@pytest.mark.parametrize("path", ["no-such-link", "", "a/b", "%00", "%ff", "..%2f..", "x" * 5000])
def test_a_link_that_is_not_there_is_a_page(gateway: Gateway, path: str) -> None:
    assert _ask(gateway, "GET", path).status_code == 404
    assert _ask(gateway, "POST", path, data=CLAIM).status_code == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "PROPFIND"])
def test_another_method_is_not_allowed(gateway: Gateway, link: Link, method: str) -> None:
    answer = _ask(gateway, method, link.slug)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


@pytest.mark.parametrize(
    ("status", "data", "content_type"),
    [
        (400, {"pin": "123456"}, None),
        (400, {**CLAIM, "code": ""}, None),
        (400, {**CLAIM, "waba_id": "x"}, None),
        (400, b"code=\xff&phone_number_id=1&waba_id=2", "application/x-www-form-urlencoded"),
        (413, {**CLAIM, "code": "x" * 2_000_000}, None),
        (415, b'{"code": "x"}', "application/json"),
        (415, b"", "text/plain"),
        (415, b"--x\r\n", "multipart/form-data; boundary=x"),
        (422, {**CLAIM, "pin": "12"}, None),
        (422, CLAIM, None),
    ],
)
def test_a_form_that_the_page_would_not_post_changes_nothing(
    gateway: Gateway,
    link: Link,
    status: int,
    data: Mapping[str, str] | bytes,
    content_type: str | None,
) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    assert _ask(gateway, "POST", link.slug, data=data, headers=headers).status_code == status
    assert _ask(gateway, "GET", link.slug).status_code == 200
    assert link.numbers() == []


def test_an_expired_link_says_so(gateway: Gateway, new_link: NewLink) -> None:
    old = new_link()
    gateway.stored.change("UPDATE signup_link SET expires_at = 1 WHERE id = ?", old.id)
    for answer in (_ask(gateway, "GET", old.slug), _ask(gateway, "POST", old.slug, data=CLAIM)):
        assert answer.status_code == 410
        assert "This link has expired" in answer.text


def test_no_code_or_pin_reaches_the_log(gateway: Gateway, link: Link) -> None:
    _ask(gateway, "POST", link.slug, data={**CLAIM, "code": "AQsecret", "pin": "987123"})
    assert "AQsecret" not in gateway.log()
    assert "987123" not in gateway.log()
