"""The network's callback: verified, and ingested or stored before its response."""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Sequence
from urllib.parse import urlencode

import pytest
from starlette.types import Scope

from contract_tests.stored import Stored
from contract_tests.waiting import wait_for
from gateway.api.operations import CALLBACK
from gateway.http import endpoints
from models.messages.callback import Callback, Reason, SetAside
from services import receiving
from tasks.queue import huey
from tests.asgi import Answered, ask, edge_of, http_scope
from tests.conftest import Configure
from tests.tasks.callbacks import messages, status_of

PLANS = {"starter": 3, "pro": 5, "anonymous": 2}
HANDSHAKE = {
    "hub.mode": "subscribe",
    "hub.challenge": "1158",
    "hub.verify_token": "verify-token",
}


@pytest.fixture(autouse=True)
def _secrets(state: Stored, configure: Configure) -> None:
    assert state.environment
    configure(NETWORK_APP_SECRET="app-secret", NETWORK_VERIFY_TOKEN="verify-token")


def _sign(body: bytes, secret: str = "app-secret") -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}"}


def _ask(scope: Scope, chunks: Sequence[bytes] = (b"",)) -> Answered:
    answered = ask(edge_of(endpoints.intake, PLANS), scope, chunks)
    assert answered is not None
    return answered


def _post(body: bytes, headers: dict[str, str]) -> Answered:
    half = len(body) // 2
    return _ask(http_scope("POST", CALLBACK, headers=headers), [body[:half], body[half:]])


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_handshake_gives_the_bare_challenge_back(method: str) -> None:
    answered = _ask(http_scope(method, CALLBACK, query=urlencode(HANDSHAKE).encode()))
    assert (answered.status, answered.body) == (200, b"1158")
    assert answered.header("content-type").startswith("text/plain")


def test_callbacks_of_whatsapp_are_received_although_new_numbers_are_of_another_network(
    configure: Configure,
) -> None:
    configure(
        NETWORK="memory", NETWORK_APP_SECRET="app-secret", NETWORK_VERIFY_TOKEN="verify-token"
    )
    handshake = _ask(http_scope("GET", CALLBACK, query=urlencode(HANDSHAKE).encode()))
    assert (handshake.status, handshake.body) == (200, b"1158")
    assert _post(b"{}", _sign(b"{}")).status == 200
    assert _post(b"{}", _sign(b"{}", "another")).status == 401


@pytest.mark.parametrize(
    "query",
    [
        b"",
        urlencode(HANDSHAKE | {"hub.verify_token": "wrong"}).encode(),
        urlencode(HANDSHAKE | {"hub.mode": "unsubscribe"}).encode(),
        urlencode({k: v for k, v in HANDSHAKE.items() if k != "hub.verify_token"}).encode(),
        urlencode(HANDSHAKE).replace("verify-token", "%ED%B3%BF").encode(),
        urlencode(HANDSHAKE).encode().replace(b"verify-token", b"\xff"),
    ],
)
def test_a_handshake_without_our_token_is_refused(query: bytes) -> None:
    answered = _ask(http_scope(path=CALLBACK, query=query))
    assert (answered.status, answered.error["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_another_method_gets_405_with_allow(method: str) -> None:
    answered = _ask(http_scope(method, CALLBACK))
    assert (answered.status, answered.error["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answered.header("allow") == "GET, HEAD, POST"


def test_a_signed_callback_is_ingested_before_its_response() -> None:
    body = json.dumps({"entry": [messages("9009", statuses=[status_of("wamid.1", "read")])]})
    answered = _post(body.encode(), _sign(body.encode()))
    assert (answered.status, answered.body) == (200, b"")
    assert Callback.select().count() == 0
    assert [aside.reason for aside in SetAside.waiting()] == [Reason.FOREIGN_NUMBER]


@pytest.mark.parametrize("body", [b"\xff\0 not json", b""])
def test_an_unreadable_callback_is_set_aside_as_it_came(body: bytes) -> None:
    assert _post(body, _sign(body)).status == 200
    [aside] = SetAside.waiting()
    assert (aside.reason, bytes(aside.body)) == (Reason.UNREADABLE, body)


@pytest.mark.parametrize("size", [receiving.MOST_BYTES + 1, endpoints.LARGE])
def test_a_large_callback_is_stored_as_it_came_for_the_worker(size: int) -> None:
    body = b'{"entry": [ ] , "text":"ol\\u00e1 \\/"}'.ljust(size)
    assert _post(body, _sign(body)).status == 200
    [callback] = Callback.select()
    assert bytes(callback.body) == body
    # A thread puts the task on the queue.
    wait_for(lambda: len(huey), "a task")
    assert huey.dequeue().name == "wake_for_callbacks"


@pytest.mark.parametrize("body", [b"{}", b"{}" * endpoints.LARGE])
@pytest.mark.parametrize("headers", [{}, _sign(b"{}", "other"), _sign(b"{ }")])
def test_a_callback_that_is_not_signed_leaves_no_trace(
    headers: dict[str, str], body: bytes
) -> None:
    answered = _post(body, headers)
    assert (answered.status, answered.error["code"]) == (401, "UNAUTHORIZED")
    assert Callback.select().count() == 0
    assert len(huey) == 0


def test_a_callback_that_cannot_be_ingested_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "ingest_together", _fail)
    assert _post(b"{ }", _sign(b"{ }")).status == 200
    [callback] = Callback.select()
    assert bytes(callback.body) == b"{ }"


def test_a_callback_that_cannot_be_stored_either_is_not_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(receiving, "ingest_together", _fail)
    monkeypatch.setattr(Callback, "keep", _fail)
    answered = _post(b"{}", _sign(b"{}"))
    assert (answered.status, answered.error["code"]) == (500, "INTERNAL_ERROR")


def _fail(*_: object, **__: object) -> int:
    raise sqlite3.OperationalError("disk is full")
