"""Pages of the dashboard, as a signed-in user sees them."""

from typing import Protocol

import pytest
from flask import Flask

from dashboard.urls import blueprint
from models.account import Account
from models.user import User
from models.user_session import UserSession


class Visit(Protocol):
    """Fetches a page below /dashboard/. Returns its HTML."""

    def __call__(self, path: str, status: int = 200) -> str: ...


@pytest.fixture
def visit(account: Account) -> Visit:
    """The pages that a user of the account sees."""
    user = User.enrol(account, "ada@example.com", "correct horse battery")
    app = Flask("pages")
    app.register_blueprint(blueprint)
    client = app.test_client()

    def show(path: str, status: int = 200) -> str:
        client.set_cookie("gateway_session", UserSession.begin(user))
        answer = client.get(f"/dashboard/{path}")
        assert answer.status_code == status
        return answer.text

    return show
