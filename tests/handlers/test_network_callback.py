"""The network's callback: verified, kept raw, answered at once, ingested afterwards."""

import hashlib
import hmac
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from contract_tests.stored import Stored
from handlers import network_callback
from handlers.errors import ForbiddenError, UnauthorizedError
from models.callback import Callback
from tasks.queue import huey
from tests.conftest import Configure

PATH = "/network/callback"


@pytest.fixture
def client(state: Stored, configure: Configure) -> Iterator[FlaskClient]:
    assert state.environment
    configure(NETWORK_APP_SECRET="app-secret", NETWORK_VERIFY_TOKEN="verify-token")
    app = Flask("test")
    app.testing = True
    app.register_blueprint(network_callback.blueprint)
    with app.test_client() as client:
        yield client


def _sign(body: bytes, secret: str = "app-secret") -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}"}


def test_the_handshake_gives_the_bare_challenge_back(client: FlaskClient) -> None:
    query = {"hub.mode": "subscribe", "hub.challenge": "1158", "hub.verify_token": "verify-token"}
    response = client.get(PATH, query_string=query)
    assert (response.status_code, response.get_data()) == (200, b"1158")


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"hub.mode": "subscribe", "hub.challenge": "1", "hub.verify_token": "wrong"},
        {"hub.mode": "subscribe", "hub.challenge": "1"},
        {"hub.mode": "unsubscribe", "hub.challenge": "1", "hub.verify_token": "verify-token"},
        {"hub.mode": "subscribe", "hub.challenge": "1", "hub.verify_token": "\udcff"},
    ],
)
def test_a_handshake_without_our_token_is_refused(
    client: FlaskClient, query: dict[str, str]
) -> None:
    with pytest.raises(ForbiddenError):
        client.get(PATH, query_string={k: v.encode("utf-8", "replace") for k, v in query.items()})


def test_a_signed_callback_is_kept_as_it_came_and_queued(client: FlaskClient) -> None:
    body = b'{"entry": [ ] , "text":"ol\\u00e1 \\/"}'
    assert client.post(PATH, data=body, headers=_sign(body)).status_code == 200
    [callback] = Callback.select()
    assert bytes(callback.body) == body
    assert huey.dequeue().args == (callback.id,)


def test_a_callback_that_is_signed_but_unreadable_is_kept_as_well(client: FlaskClient) -> None:
    body = b"\xff not json"
    assert client.post(PATH, data=body, headers=_sign(body)).status_code == 200
    assert Callback.select().count() == 1


@pytest.mark.parametrize("headers", [{}, _sign(b"{}", "other"), _sign(b"{ }")])
def test_a_callback_that_is_not_signed_leaves_no_trace(
    client: FlaskClient, headers: dict[str, str]
) -> None:
    with pytest.raises(UnauthorizedError):
        client.post(PATH, data=b"{}", headers=headers)
    assert Callback.select().count() == 0
    assert len(huey) == 0
