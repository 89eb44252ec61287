"""The pages of numbers and messages show what the network says of them."""

from collections.abc import Callable

import pytest
from flask import Flask

from dashboard.urls import blueprint
from models.account import Account
from models.database import writing
from models.message import MessageStatus
from models.number import Number, NumberStatus
from models.user import User
from models.user_session import UserSession
from tests import factories
from tests.conftest import Clock

Shown = Callable[[str], str]


@pytest.fixture
def shown(account: Account) -> Shown:
    """A page, as a user of the account sees it."""
    user = User.enrol(account, "ada@example.com", "correct horse battery")
    app = Flask("pages")
    app.register_blueprint(blueprint)
    client = app.test_client()

    def show(path: str) -> str:
        client.set_cookie("gateway_session", UserSession.begin(user))
        answer = client.get(f"/dashboard/{path}")
        assert answer.status_code == 200
        return answer.text

    return show


def test_a_banned_number_says_why_beside_its_quality_and_limit(
    number: Number, shown: Shown
) -> None:
    assert shown(f"numbers/{number.id}").count("not known yet") == 2
    with writing():
        number.learn(quality_rating="RED", messaging_limit="TIER_250")
        number.move_to(NumberStatus.BANNED, reason="ACCOUNT_VIOLATION SCAM")
    page = shown(f"numbers/{number.id}")
    for said in ("RED", "TIER_250", "ACCOUNT_VIOLATION SCAM"):
        assert said in page
    assert "ACCOUNT_VIOLATION SCAM" in shown("numbers")


def test_a_failed_message_says_what_its_code_means(
    number: Number, clock: Clock, shown: Shown
) -> None:
    message = factories.outbound(number)
    with writing():
        message.advance(MessageStatus.FAILED, at=clock.at, error=("131047", "Re-engagement"))
    page = shown(f"messages/{message.id}")
    assert page.count("Re-engagement. The person has not written within the last 24 hours.") == 2
