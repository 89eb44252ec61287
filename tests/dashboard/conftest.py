"""Fixtures: pages and forms of the dashboard for a signed-in user."""

import re
from typing import IO, Protocol

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from models.accounts.account import Account
from models.accounts.user import Role, User
from models.accounts.user_session import UserSession
from tests.dashboard.world import application
from tests.people import member


class Visit(Protocol):
    """Fetches a page below /dashboard/. Returns its HTML."""

    def __call__(self, path: str, status: int = 200) -> str: ...


Field = str | list[str] | tuple[IO[bytes], str, str]


class Submit(Protocol):
    """Posts a form, with its token, to a page below /dashboard/. Without a status, a redirect is expected.

    A file is a tuple of its content, its name and its content type.
    """

    def __call__(self, path: str, status: int = 303, **form: Field) -> TestResponse: ...


@pytest.fixture
def user(account: Account) -> User:
    """A user of the account."""
    return member(account, Role.OWNER, "ada")


@pytest.fixture
def browser() -> FlaskClient:
    """A browser signed in to the dashboard."""
    return application().test_client()


@pytest.fixture
def visit(browser: FlaskClient, user: User) -> Visit:
    """The pages that a user of the account sees."""

    def show(path: str, status: int = 200) -> str:
        browser.set_cookie("gateway_session", UserSession.begin(user))
        answer = browser.get(f"/dashboard/{path}")
        assert answer.status_code == status
        return answer.text

    return show


@pytest.fixture
def submit(browser: FlaskClient, visit: Visit) -> Submit:
    """The forms that a user of the account posts."""

    def post(path: str, status: int = 303, **form: Field) -> TestResponse:
        [token] = set(re.findall('name="csrf_token" value="(\\w+)"', visit("keys")))
        answer = browser.post(f"/dashboard/{path}", data={"csrf_token": token, **form})
        assert answer.status_code == status
        return answer

    return post
