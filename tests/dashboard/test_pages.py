"""Every page: its headers, and the escaping of its data."""

import re

import pytest
from flask import Response

from dashboard.connect import Next, Outcome, platform_of
from dashboard.error_pages import error_page, is_page
from dashboard.filters import breakable
from dashboard.pages import render
from tests.conftest import Configure

PRODUCTION = {
    "NETWORK_URL": "https://graph.facebook.com",
    "NETWORK_APP_ID": "4711",
    "NETWORK_APP_SECRET": "app-secret",
    "NETWORK_CONFIG_ID": "4712",
    "NETWORK_VERIFY_TOKEN": "verify-token",
}


def _policy(page: Response) -> dict[str, str]:
    parts = page.headers["Content-Security-Policy"].split("; ")
    return {name: sources for name, _, sources in (part.partition(" ") for part in parts)}


def _page(text: str = "Text") -> Response:
    outcome = Outcome("refused", 409, Next.START, text)
    return render("connect/outcome.html", 409, outcome=outcome, slug="abc", fields={})


def test_a_page_carries_the_headers_that_guard_it() -> None:
    page = _page()
    assert page.status_code == 409
    assert page.headers["Referrer-Policy"] == "no-referrer"
    policy = _policy(page)
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert policy["base-uri"] == "'none'"
    assert policy["font-src"] == "'self'"
    assert policy["img-src"] == "'self' data:"


def test_styles_and_scripts_carry_a_nonce_that_is_new_each_time() -> None:
    first, second = _page(), _page()
    [nonce] = set(re.findall(r'rel="stylesheet".* nonce="([^"]+)"', first.data.decode()))
    assert _policy(first)["style-src"] == _policy(first)["script-src"] == f"'nonce-{nonce}'"
    assert nonce not in second.data.decode()


def test_text_never_becomes_markup() -> None:
    body = _page("<script>alert('1')</script>&\"").data.decode()
    assert "<script" not in body
    assert "&lt;script&gt;" in body


def test_a_url_may_break_after_the_slashes_of_its_path_and_stays_text() -> None:
    shown = breakable("https://example.com/a/<b>?c=1&d=/'e")
    assert shown == "https://example.com/<wbr>a/<wbr>&lt;b&gt;?c=1&amp;d=/<wbr>&#39;e"


def test_text_that_is_no_unicode_spoils_nothing() -> None:
    assert b"?" in _page("\ud800").data


def test_in_production_the_policy_allows_only_the_platform(configure: Configure) -> None:
    platform = platform_of(configure(**PRODUCTION))
    assert platform["sdk"] == "https://connect.facebook.net/en_US/sdk.js"
    assert (platform["site"], platform["subdomains"]) == ("https://facebook.com", True)
    named = set(" ".join(platform["sources"].values()).split())
    assert named == {
        "https://connect.facebook.net",
        "https://www.facebook.com",
        "https://web.facebook.com",
        "https://staticxx.facebook.com",
    }
    assert platform["sources"]["script-src"] == "https://connect.facebook.net"


def test_with_the_sandbox_everything_comes_from_it(configure: Configure) -> None:
    platform = platform_of(configure(SANDBOX_PORT="9123"))
    assert platform["sdk"] == "http://127.0.0.1:9123/en_US/sdk.js"
    assert (platform["site"], platform["subdomains"]) == ("http://127.0.0.1:9123", False)
    assert platform["sources"] == {"script-src": "http://127.0.0.1:9123"}


@pytest.mark.parametrize("status", [400, 404, 405, 413, 415, 429, 500])
def test_an_error_around_the_views_is_a_page(status: int) -> None:
    page = error_page(status, {"Retry-After": "7", "Allow": "GET"})
    assert page.status_code == status
    assert page.data.startswith(b"<!doctype html>")
    assert page.headers["Retry-After"] == "7"
    assert page.headers["Allow"] == "GET"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/connect/abc", True), ("/connect/", True), ("/api/numbers", False), ("/connected", False)],
)
def test_page_paths_are_distinguished_from_api_paths(path: str, *, expected: bool) -> None:
    assert is_page(path) is expected
