"""The responses of /connect to every kind of request: pages for people, with the right status."""

from collections.abc import Iterator, Mapping

import pytest
import requests

from contract_tests.connect.conftest import Link, NewLink
from contract_tests.connect.graph_proxy import Fault, GraphProxy
from contract_tests.harness import WAIT_SECONDS, Gateway

CLAIM = {"code": "AQinvented", "phone_number_id": "106", "waba_id": "524"}


@pytest.fixture(scope="module")
def link(new_link: NewLink) -> Link:
    """A link that no test completes."""
    return new_link()


@pytest.fixture
def faults(proxy: GraphProxy) -> Iterator[dict[str, Fault]]:
    """Set an error of the platform until the test is over."""
    yield proxy.faults
    proxy.faults.clear()


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
def test_an_unknown_link_shows_a_page(gateway: Gateway, path: str) -> None:
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


def _claim(gateway: Gateway) -> dict[str, str]:
    """The result that the platform's window passes at its end."""
    signup = gateway.sandbox_call("signup")
    return {name: signup[name] for name in CLAIM}


@pytest.mark.parametrize(
    ("path", "fault", "status", "title"),
    [
        ("/oauth/access_token", Fault(503, 2), 503, "The platform cannot be reached"),
        ("/subscribed_apps", Fault(400, 80007), 429, "Too much at once"),
        ("/register", Fault(400, 133008), 429, "Please wait: 1 h"),
        ("/register", Fault(400, 133009), 429, "Please wait: 1 min"),
    ],
)
def test_a_temporary_error_can_be_posted_again(
    gateway: Gateway,
    faults: dict[str, Fault],
    new_link: NewLink,
    path: str,
    fault: Fault,
    status: int,
    title: str,
) -> None:
    link, claim = new_link(), _claim(gateway)
    faults[path] = fault
    for _ in range(2):
        answer = _ask(gateway, "POST", link.slug, data=claim)
        assert (answer.status_code, title in answer.text) == (status, True), answer.text
    assert "ACTIVE" not in dict(link.numbers()).values()
    faults.clear()
    assert _ask(gateway, "POST", link.slug, data=claim).status_code == 200
    assert [status for _, status in link.numbers()] == ["ACTIVE"]


@pytest.mark.parametrize(
    ("path", "fault", "title", "said"),
    [
        ("/oauth/access_token", Fault(400, 100), "That took a little too long", "30 seconds"),
        ("/register", Fault(403, 131031), "Your number could not be connected", "locked"),
        (
            "/subscribed_apps",
            Fault(400, 2200, "No <i>callback</i>"),
            "Your number could not be connected",
            "No &lt;i&gt;callback&lt;/i&gt; (code 2200)",
        ),
    ],
)
def test_a_permanent_error_leaves_the_link_open(
    gateway: Gateway,
    faults: dict[str, Fault],
    new_link: NewLink,
    path: str,
    fault: Fault,
    title: str,
    said: str,
) -> None:
    link = new_link()
    faults[path] = fault
    answer = _ask(gateway, "POST", link.slug, data=_claim(gateway))
    assert answer.status_code == 422
    assert title in answer.text
    assert said in answer.text
    assert "ACTIVE" not in dict(link.numbers()).values()
    faults.clear()
    assert _ask(gateway, "POST", link.slug, data=_claim(gateway)).status_code == 200


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
