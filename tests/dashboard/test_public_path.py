"""A public URL with a path: every link, form, script, redirect and cookie of the pages is below it."""

import re
from collections.abc import Iterator
from functools import cache
from urllib.parse import urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import HTTPException

from dashboard import connect, error_pages, reference, site
from dashboard.urls import RULES
from gateway.api import contract
from models.accounts.account import Account
from models.accounts.user import Role
from models.numbers.number import Number
from models.numbers.signup import SignupLink
from tests.conftest import Configure
from tests.dashboard.world import VIEWS, View, browser_of, form_token, furnish
from tests.mail_server import MailServer
from tests.people import PASSWORD, member

ROOT = "/messaging"
ADDRESS = re.compile(r'<\w+\b[^>]*? (?:href|action|src|hx-get|hx-post)="([^"]*)"[^>]*>')
PAGES = [view for view in VIEWS if view.name != "static"]


pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture(autouse=True)
def _below_a_path(configure: Configure) -> None:
    configure(PUBLIC_URL=f"http://gateway.test{ROOT}")


@cache
def _site() -> Flask:
    """Every page, not only those of the dashboard."""
    app = Flask("site")
    for each in (site.blueprint, connect.blueprint, reference.blueprint, contract.blueprint):
        app.register_blueprint(each)
    return app


def _strays(page: str) -> Iterator[str]:
    """The tags of a page that lead out of the path, or to nothing."""
    matcher = _site().url_map.bind("")
    for found in ADDRESS.finditer(page):
        address = urlsplit(found[1])
        if address.netloc or not address.path.startswith("/"):
            continue
        method = "POST" if 'method="post"' in found[0] else "GET"
        try:
            matcher.match(address.path.removeprefix(ROOT), method)
        except HTTPException:
            yield found[0]
        if not address.path.startswith(f"{ROOT}/"):
            yield found[0]


@pytest.mark.parametrize("view", PAGES, ids=lambda view: view.name)
def test_no_page_and_no_redirect_leaves_the_path(
    account: Account, number: Number, mail: MailServer, view: View
) -> None:
    assert mail.mails == []
    member(account, Role.OWNER)
    world = furnish(account, number)
    if RULES[view.name].is_public:
        answer = browser_of(None).open(world.path(view), method=view.method)
    else:
        answer = world.call(member(account, Role.OWNER, "another"), view)
    assert answer.status_code in {200, 303, 403}
    assert list(_strays(answer.text)) == []
    if answer.status_code == 303:
        assert answer.headers["Location"].startswith(f"{ROOT}/dashboard/")
    for cookie in answer.headers.getlist("Set-Cookie"):
        assert f"Path={ROOT}/" in cookie.split("; ")


@pytest.mark.parametrize(
    "path", ["/", "/api/ui/", "/api/docs/", "/api/errors/", "/connect/open", "/connect/none"]
)
def test_no_other_page_leaves_the_path(account: Account, path: str) -> None:
    SignupLink.open(account, "open")
    answer = FlaskClient(_site()).get(path)
    assert list(_strays(answer.text)) == []
    assert answer.headers.get("Location", f"{ROOT}/dashboard/") == f"{ROOT}/dashboard/"


@pytest.mark.parametrize("path", ["/connect/none", "/dashboard/none"])
def test_no_error_page_leaves_the_path(path: str) -> None:
    page = error_pages.error_page(404, {}, path).data.decode()
    assert ROOT in page
    assert list(_strays(page)) == []


@pytest.mark.parametrize("asked", ["", ROOT])
def test_the_sign_in_returns_to_the_page_that_was_asked_for(account: Account, asked: str) -> None:
    """The server sends the path as it got it, scripts send that of the browser."""
    user = member(account, Role.OWNER)
    browser = browser_of(None)
    browser.set_cookie("gateway_visitor", "visitor")
    form = {"email": user.email, "password": PASSWORD, "next": f"{asked}/dashboard/keys?page=2"}
    form["csrf_token"] = form_token(browser, "/dashboard/sign-in")
    answer = browser.post("/dashboard/sign-in", data=form)
    assert answer.headers["Location"] == f"{ROOT}/dashboard/keys?page=2"


def test_behind_https_cookies_with_a_path_have_a_prefix_that_allows_it(
    configure: Configure,
) -> None:
    configure(
        PUBLIC_URL=f"https://gateway.test{ROOT}",
        NETWORK_APP_SECRET="a secret of the platform",
        NETWORK_VERIFY_TOKEN="a token of the platform",
    )
    answer = browser_of(None).get("/dashboard/sign-in", base_url="https://gateway.test")
    [cookie] = answer.headers.getlist("Set-Cookie")
    assert cookie.startswith("__Secure-gateway_visitor=")
    assert {"Secure", f"Path={ROOT}/"} <= set(cookie.split("; "))
