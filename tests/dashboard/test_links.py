"""The signup links of the dashboard, without a server."""

import re

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from models.accounts.account import Account
from models.accounts.user_session import UserSession
from models.numbers.signup import SignupLink
from tests.dashboard.world import application
from tests.people import enrol

PATH = "/dashboard/links"


@pytest.fixture
def client(account: Account) -> FlaskClient:
    """A browser whose user is signed in."""
    client = application().test_client()
    user = enrol(account, "ada@example.com", "correct horse battery")
    client.set_cookie("gateway_session", UserSession.begin(user))
    return client


def _create(client: FlaskClient, **fields: str) -> TestResponse:
    token = client.get(PATH).text.partition('name="csrf_token" value="')[2][:64]
    return client.post(PATH, data={"csrf_token": token, **fields})


def test_a_link_ends_with_eighty_random_bits(client: FlaskClient) -> None:
    assert [_create(client, slug="acme").status_code for _ in range(2)] == [303, 303]
    first, second = (link.slug for link in SignupLink.all())
    assert re.fullmatch(r"acme-[a-z2-7]{16}", first)
    assert re.fullmatch(r"acme-[a-z2-7]{16}", second)
    assert first != second


def test_an_exact_name_is_used_where_the_box_is_ticked(client: FlaskClient) -> None:
    assert _create(client, slug="acme", exact="on").status_code == 303
    assert [link.slug for link in SignupLink.all()] == ["acme"]
    taken = _create(client, slug="acme", exact="on")
    assert taken.status_code == 409
    assert 'name="exact" checked' in taken.text


@pytest.mark.parametrize(("fields", "most"), [({}, 46), ({"exact": "on"}, 63)])
def test_a_name_that_makes_no_slug_is_shown_again(
    client: FlaskClient, fields: dict[str, str], most: int
) -> None:
    for name in ("-acme", "a" * (most + 1), ""):
        refused = _create(client, slug=name, **fields)
        assert refused.status_code == 422
        assert f"Use 1 to {most} letters" in refused.text
        assert f'name="slug" value="{name}"' in refused.text
    assert SignupLink.all() == []
