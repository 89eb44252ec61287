"""The layout of every page: navigation, search, times, and states that do not depend on colour."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard import reference, site
from models.accounts.account import Account
from models.accounts.user import User
from models.accounts.user_session import UserSession
from models.database import writing
from models.deliveries.webhook import Deactivation, Webhook
from models.numbers.number import Number, NumberStatus
from tests import factories
from tests.dashboard.conftest import Visit


def test_the_root_leads_to_the_dashboard() -> None:
    app = Flask("root")
    app.register_blueprint(reference.blueprint)
    answer = app.test_client().get("/")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/")


def test_each_entry_of_the_navigation_has_an_icon_that_is_drawn(visit: Visit) -> None:
    page = visit("keys")
    drawn = set(re.findall(r'<symbol id="([^"]+)"', page))
    assert {icon for *_, icon in site.NAVIGATION} <= {name.removeprefix("icon-") for name in drawn}
    assert {name.lstrip("#") for name in re.findall(r'<use href="([^"]+)"', page)} <= drawn


def test_the_menu_of_a_narrow_screen_has_what_the_side_bar_has(visit: Visit) -> None:
    page = visit("keys")
    for view, *_ in site.NAVIGATION:
        path = "" if view == "overview" else view
        assert page.count(f'<a href="/dashboard/{path}"') >= 2


def _keys(browser: FlaskClient, user: User) -> str:
    browser.set_cookie("gateway_session", UserSession.begin(user))
    return browser.get("/dashboard/keys").text


def test_without_scripts_a_time_is_whole_and_in_utc(number: Number, visit: Visit) -> None:
    factories.outbound(number)
    page = visit("messages")
    assert re.search(
        r'<time datetime="[0-9T:.-]+Z" data-when="ago">[0-9-]{10} [0-9:]{5} UTC</time>', page
    )


def test_a_failing_webhook_is_not_active_in_green(account: Account, visit: Visit) -> None:
    webhook = factories.webhook(account)
    with writing():
        Webhook.update(failure_count=3).execute()
    for path in ("webhooks", f"webhooks/{webhook.id}"):
        page = visit(path)
        assert re.search(
            r'<span class="badge bad"><svg[^>]*><use href="#icon-bad"/></svg>failing<', page
        )
        assert "active</span>" not in page


@pytest.mark.parametrize(
    ("because", "kind"),
    [(Deactivation.FAILURES, "bad"), (Deactivation.GONE, "bad"), (Deactivation.REQUESTED, "off")],
)
def test_a_webhook_disabled_on_purpose_is_no_trouble(
    account: Account, visit: Visit, because: Deactivation, kind: str
) -> None:
    webhook = factories.webhook(account, active=False)
    with writing():
        Webhook.update(deactivated_because=because).execute()
    for path in ("webhooks", f"webhooks/{webhook.id}"):
        assert re.search(rf'<span class="badge {kind}">.{{0,80}}disabled</span>', visit(path))


@pytest.mark.parametrize("status", [NumberStatus.BANNED, NumberStatus.DISCONNECTED])
def test_a_lost_number_says_what_to_do(number: Number, visit: Visit, status: NumberStatus) -> None:
    assert "What to do" not in visit(f"numbers/{number.id}")
    with writing():
        number.move_to(status)
    page = visit(f"numbers/{number.id}")
    for said in ("What to do", "WhatsApp gave no reason", "Sends with this number are refused"):
        assert said in page
    assert ("Create a signup link</a>" in page) is (status == NumberStatus.DISCONNECTED)
