"""Every view of the dashboard as a test calls it: its address, and the form that makes it succeed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard import limit_use
from dashboard.permissions import RULES
from dashboard.urls import blueprint
from models import clock
from models.account import Account
from models.api_key import ApiKey
from models.clock import new_id
from models.database import writing
from models.number import Number
from models.signup import SignupLink
from models.user import Role, User
from models.user_session import UserSession
from tests import factories

# What each action needs to succeed. Others need no field.
FORMS: dict[str, dict[str, str]] = {
    "change_words": {"stop": "stop", "start": "start"},
    "change_note": {"note": "a friend"},
    "create_webhook": {"url": "http://127.0.0.1:9/another", "events": "message.sent"},
    "change_webhook": {"url": "http://127.0.0.1:9/hook", "events": "message.read"},
    "create_key": {"name": "another"},
    "create_link": {"slug": "another"},
}
QUERIES = {
    "redeliver_since": "?since=2026-01-01T00:00",
    "confirm_redeliver_many": "?since=2026-01-01T00:00",
}


@dataclass(frozen=True)
class View:
    """A view by its name, as the application routes it."""

    name: str
    method: str
    route: str


def application() -> Flask:
    """The dashboard's application, without a rate limit."""
    app = Flask("pages")
    app.register_blueprint(blueprint)
    app.extensions[limit_use.EXTENSION] = lambda _account: (100, 99, clock.now() // 1000)
    return app


def _views() -> Iterator[View]:
    for rule in application().url_map.iter_rules():
        if rule.endpoint.startswith("dashboard."):
            method = "POST" if "POST" in (rule.methods or ()) else "GET"
            yield View(rule.endpoint.removeprefix("dashboard."), method, str(rule))


VIEWS = list(_views())
PRIVATE = [view for view in VIEWS if not RULES[view.name].is_public]
ACTIONS = [view for view in PRIVATE if view.method == "POST"]


def member(account: Account, role: Role, name: str = "") -> User:
    """A user with this role, whose password nobody knows."""
    with writing():
        return User.enrol_hashed(account, f"{name or role}@example.com", "no hash", role)


@dataclass(frozen=True)
class Round:
    """An account that has one of everything, and a browser for each of its users."""

    account: Account
    ids: dict[str, str]

    def path(self, view: View) -> str:
        """The address of a view."""
        path = view.route
        for name, value in self.ids.items():
            path = path.replace(name, value)
        assert "<" not in path, "a resource of another kind needs an identifier in rounds.py"
        return path + QUERIES.get(view.name, "")

    def call(self, browser: FlaskClient, view: View) -> TestResponse:
        """Open a page, or submit its form with the token of the session."""
        path = self.path(view)
        if view.method == "GET":
            return browser.get(path)
        form = {"csrf_token": form_token(browser), **FORMS.get(view.name, {})}
        return browser.post(path, data=form)


def furnish(account: Account, number: Number) -> Round:
    """Make one of everything."""
    hook = factories.webhook(account)
    [delivery] = factories.deliveries(account, hook)
    message = factories.outbound(number)
    ids = {
        "<webhook_id>": hook.id,
        "<delivery_id>": delivery.id,
        "<message_id>": message.id,
        "<contact_id>": str(message.contact_id),
        "<number_id>": number.id,
        "<key_id>": ApiKey.issue(account, "key")[0].id,
        "<link_id>": SignupLink.open(account, new_id("slug").replace("_", "-")).id,
    }
    return Round(account, ids)


def browser_of(user: User | None) -> FlaskClient:
    """A browser in which the user is signed in; a visitor's without one."""
    browser = application().test_client()
    if user is not None:
        browser.set_cookie("gateway_session", UserSession.begin(user))
    return browser


def form_token(browser: FlaskClient, path: str = "/dashboard/keys") -> str:
    """The token of the forms of this browser, by a page that has one."""
    found = re.search(r'name="csrf_token" value="(\w+)"', browser.get(path).text)
    assert found is not None
    return found[1]
