"""The sign-in form, without a server: rate limits, and forms of other origins."""

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from models.accounts.account import Account
from tests.dashboard.world import application
from tests.people import enrol

EMAIL, PASSWORD = "ada@example.com", "correct horse battery"
PATH = "/dashboard/sign-in"


@pytest.fixture
def client(account: Account) -> FlaskClient:
    """A browser and a user, not signed in."""
    enrol(account, EMAIL, PASSWORD)
    return application().test_client()


def _sign_in(
    client: FlaskClient, password: str, address: str = "192.0.2.1", origin: str | None = None
) -> TestResponse:
    token = client.get(PATH).text.partition('name="csrf_token" value="')[2][:64]
    return client.post(
        PATH,
        data={"csrf_token": token, "email": EMAIL, "password": password},
        headers={} if origin is None else {"Origin": origin},
        environ_base={"REMOTE_ADDR": address},
    )


def test_five_wrong_passwords_lock_nobody_out_at_another_address(client: FlaskClient) -> None:
    assert [_sign_in(client, "wrong").status_code for _ in range(5)] == [422] * 5
    waiting = _sign_in(client, PASSWORD)
    assert waiting.status_code == 429
    assert 0 < int(waiting.headers["Retry-After"]) <= 900
    assert _sign_in(client, PASSWORD, "192.0.2.2").status_code == 303


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "http://[",
            "http://[::1",
            "http://]",
            "http://[x]",
            "http://\u2100.example",
            "//localhost",
        ),
        *("", "null", "localhost", "https://elsewhere.example", "http://localhost:1"),
        *("http://localhost/", "http://ada@localhost", "ftp://localhost"),
    ],
)
def test_a_form_from_any_other_origin_is_refused(client: FlaskClient, origin: str) -> None:
    assert _sign_in(client, PASSWORD, origin=origin).status_code == 403


@pytest.mark.parametrize("origin", [None, "http://localhost", "https://localhost"])
def test_a_form_of_our_own_pages_is_taken(client: FlaskClient, origin: str | None) -> None:
    assert _sign_in(client, PASSWORD, origin=origin).status_code == 303
