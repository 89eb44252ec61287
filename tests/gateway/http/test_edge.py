"""The edge: rules for every request, such as limits and the shape of errors."""

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.operations import MEBIBYTE
from gateway.http import admission
from models.accounts.account import Account, ApiKey
from tests.asgi import Answered, ask, edge_of, http_scope

PLANS = {"starter": 3, "pro": 5, "anonymous": 2}
LIMIT_HEADERS = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}

pytestmark = pytest.mark.usefixtures("state")


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Responds with the body and the headers of the request."""
    body = await Request(scope, receive).body()
    seen = [(b"saw-" + name, value) for name, value in scope["headers"]]
    await send({"type": "http.response.start", "status": 200, "headers": seen})
    await send({"type": "http.response.body", "body": body})


def _edge(app: ASGIApp = _echo) -> ASGIApp:
    return edge_of(app, PLANS)


def _ask(
    edge: ASGIApp,
    *chunks: bytes,
    path: str = "/api/webhooks",
    headers: dict[str, str] | None = None,
) -> Answered:
    answered = ask(edge, http_scope("POST", path, headers=headers), chunks or (b"",))
    assert answered is not None
    assert {name for name, _ in answered.headers} >= LIMIT_HEADERS
    assert answered.header("x-content-type-options") == "nosniff"
    assert answered.header("cache-control") == "no-store"
    return answered


def test_a_valid_key_is_counted_against_its_account_and_plan(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    edge = _edge()
    limits = {
        _ask(edge, headers={"Authorization": value}).header("x-ratelimit-limit")
        for value in (f"Bearer {key}", f"bearer {key}")
    }
    assert limits == {"5"}


@pytest.mark.parametrize(
    "value", ["", "Bearer", "Bearer wrong", "Basic {key}", "{key}", "Bearer  "]
)
def test_anything_else_is_counted_against_the_address(account: Account, value: str) -> None:
    _, key = ApiKey.issue(account, "ci")
    answered = _ask(_edge(), headers={"Authorization": value.format(key=key)})
    assert answered.header("x-ratelimit-limit") == "2"


def test_two_keys_in_one_request_are_unauthorized(account: Account) -> None:
    _, key = ApiKey.issue(account, "ci")
    scope = http_scope(path="/api/numbers", headers={"Authorization": f"Bearer {key}"})
    scope["headers"] *= 2
    answered = ask(_edge(), scope)
    assert answered is not None
    assert answered.header("x-ratelimit-limit") == "2"


def test_past_the_limit_comes_429_with_retry_after() -> None:
    edge = _edge()
    assert [_ask(edge).status for _ in range(3)] == [200, 200, 429]
    answered = _ask(edge)
    assert answered.error["code"] == "RATE_LIMITED"
    assert 1 <= int(answered.header("retry-after")) <= 61
    assert answered.header("x-ratelimit-remaining") == "0"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/network/callback"])
def test_probes_and_callbacks_are_not_limited(path: str) -> None:
    edge = _edge()
    assert {_ask(edge, path=path).status for _ in range(5)} == {200}
    assert _ask(edge).header("x-ratelimit-remaining") == "1"


@pytest.mark.parametrize(
    ("path", "limit"),
    [("/api/webhooks", MEBIBYTE), ("/network/callback", 4 * MEBIBYTE)],
)
def test_a_body_may_be_as_large_as_the_limit_and_no_larger(path: str, limit: int) -> None:
    edge = _edge()
    exact = _ask(edge, b"x" * (limit - 1), b"y", path=path)
    assert (exact.status, len(exact.body)) == (200, limit)
    larger = _ask(edge, b"x" * limit, b"y", path=path)
    assert (larger.status, larger.error["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_request_of_a_client_that_hung_up_is_dropped() -> None:
    assert ask(_edge(), http_scope("POST", "/api/webhooks"), [b"half", None]) is None


def test_a_crash_is_the_standard_error_without_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def crash(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ZeroDivisionError("secret detail")

    answered = _ask(_edge(crash))
    assert (answered.status, answered.error["code"]) == (500, "INTERNAL_ERROR")
    assert b"secret detail" not in answered.body
    assert "secret detail" in caplog.text


def test_a_crash_in_the_middle_of_a_response_cuts_it_off() -> None:
    async def crash(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        del scope, receive
        raise ZeroDivisionError

    answered = _ask(_edge(crash))
    assert (answered.status, answered.body) == (200, b"half")


def test_a_refusal_inside_keeps_its_status_and_allow() -> None:
    async def refuse(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise HTTPException(405, headers={"Allow": "GET", "Other": "dropped"})

    answered = _ask(_edge(refuse))
    assert (answered.status, answered.error["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answered.header("allow") == "GET"
    assert "other" not in dict(answered.headers)


def test_an_unreachable_database_is_500_in_the_standard_error_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk gone")

    monkeypatch.setattr(admission, "identify", fail)
    answered = _ask(_edge())
    assert (answered.status, answered.error["code"]) == (500, "INTERNAL_ERROR")


def test_a_response_may_have_its_own_rule_for_caches() -> None:
    async def allow(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"Cache-Control", b"private")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    answered = ask(_edge(allow), http_scope(path="/api/webhooks"))
    assert answered is not None
    assert [value for name, value in answered.headers if name.lower() == "cache-control"] == [
        "private"
    ]


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        ("/api/numbers", "application/json", ["api.json"]),
        ("/api/numbers", "application/json; charset=utf-8", ["api.json"]),
        ("/api/events/stream", "text/event-stream; charset=utf-8", ["api.txt"]),
        ("/api/openapi.yaml", "application/json", []),
        ("/readyz", "application/json", []),
        ("/dashboard/", "text/html", []),
    ],
)
def test_a_browser_saves_responses_of_the_api_as_files(
    path: str, kind: str, expected: list[str]
) -> None:
    app = Response(b"[]", headers={"content-type": kind})
    answered = ask(_edge(app), http_scope(path=path))
    assert answered is not None
    names = [value for name, value in answered.headers if name == "content-disposition"]
    assert names == [f'attachment; filename="{name}"' for name in expected]


def test_an_unknown_path_of_the_api_is_saved_under_no_name_of_its_own() -> None:
    answered = ask(_edge(), http_scope(path="/api/setup.bat"))
    assert answered is not None
    assert answered.status == 404
    assert answered.header("content-disposition") == 'attachment; filename="api.json"'


def test_a_media_type_arrives_in_the_spelling_that_the_validator_knows() -> None:
    answered = _ask(_edge(), headers={"Content-Type": "Application/JSON ; charset=UTF-8"})
    assert answered.header("saw-content-type") == "application/json;charset=UTF-8"


def test_a_header_with_an_underscore_does_not_pass_for_another() -> None:
    answered = _ask(_edge(), headers={"Idempotency_Key": "smuggled"})
    assert "smuggled" not in dict(answered.headers).values()
