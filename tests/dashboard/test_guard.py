"""Cookies and forms of the dashboard, without a server."""

import pytest

from dashboard.cookies import session_token
from dashboard.guard import safe_next
from dashboard.site import page_number
from models.accounts.account import Account, ApiKey
from models.accounts.user_session import UserSession
from models.numbers.signup import SignupLink
from tests.conftest import Configure
from tests.dashboard.world import application
from tests.people import enrol

PUBLIC_URL = "https://gateway.example.com"
PRODUCTION = {
    "PUBLIC_URL": PUBLIC_URL,
    "NETWORK_APP_SECRET": "app-secret",
    "NETWORK_VERIFY_TOKEN": "verify-token",
}


def test_behind_https_cookies_are_secure_and_bound_to_the_host(
    configure: Configure, account: Account
) -> None:
    configure(**PRODUCTION)
    enrol(account, "ada@example.com", "correct horse battery")
    client = application().test_client()
    form = client.get("/dashboard/sign-in", base_url=PUBLIC_URL)
    token = form.text.partition('name="csrf_token" value="')[2][:64]
    fields = {
        "csrf_token": token,
        "email": "ada@example.com",
        "password": "correct horse battery",
    }
    # The proxy forwards plain http, so only the setting gives the page's origin.
    answer = client.post(
        "/dashboard/sign-in", base_url=PUBLIC_URL, data=fields, headers={"Origin": PUBLIC_URL}
    )
    assert answer.status_code == 303
    set_cookies = form.headers.getlist("Set-Cookie") + answer.headers.getlist("Set-Cookie")
    assert len(set_cookies) == 4
    for cookie in set_cookies:
        assert cookie.startswith("__Host-gateway_")
        assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))


def test_the_edge_finds_the_session_among_other_cookies(configure: Configure) -> None:
    assert session_token("a=b; gateway_session=token; c=d") == "token"
    assert session_token("a=b") is None
    assert session_token("") is None
    configure(**PRODUCTION)
    assert session_token("gateway_session=token") is None
    assert session_token("__Host-gateway_session=token") == "token"


def test_a_revoked_key_or_closed_link_is_not_revoked_again(account: Account) -> None:
    user = enrol(account, "ada@example.com", "correct horse battery")
    client = application().test_client()
    client.set_cookie("gateway_session", UserSession.begin(user))
    key, _ = ApiKey.issue(account, "key")
    link = SignupLink.open(account, "link")
    paths = [f"/dashboard/keys/{key.id}/revoke", f"/dashboard/links/{link.id}/revoke"]
    assert [client.get(path).status_code for path in paths] == [200, 200]
    key.revoke()
    link.revoke()
    assert [client.get(path).status_code for path in paths] == [404, 404]


@pytest.mark.parametrize(
    ("query", "page"),
    [("", 1), ("page=3", 3), ("page=0", 1), ("page=-1", 1), ("page=x", 1), ("page=" + "9" * 99, 1)],
)
def test_any_page_number_is_understood(query: str, page: int) -> None:
    with application().test_request_context(f"/dashboard/numbers?{query}"):
        assert page_number() == page


@pytest.mark.parametrize(
    "target", ["/dashboardx", "dashboard/", "/dashboard/\u2028", "javascript:x"]
)
def test_a_redirect_target_outside_leads_to_the_overview(target: str) -> None:
    assert safe_next(target) == "/dashboard/"
