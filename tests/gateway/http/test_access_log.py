"""Every request has an identifier and one log line, without secrets."""

import json
import logging
import re
from typing import Any

import pytest
from opentelemetry.trace import SpanKind
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.app import build_app
from gateway.ops.logs import JsonFormatter
from models.accounts.account import Account, ApiKey
from services.telemetry import note, request_fields
from tests.asgi import Answered, ask, edge_of, http_scope
from tests.conftest import Configure
from tests.spans import gathered

MADE = re.compile(r"req_[0-9A-Z]{26}")
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
OF_EVERY_LINE = {"time", "level", "logger", "message"}
MESSAGE = "msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C"


async def _ok(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"12345"})


def _ask(path: str = "/api/messages", app: ASGIApp = _ok, **scope: Any) -> Answered:
    answered = ask(edge_of(app), http_scope(path=path, **scope))
    assert answered is not None
    return answered


def _lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The requests' lines, without the fields that every log line has."""
    lines = [json.loads(line) for line in caplog.text.splitlines()]
    return [
        {name: value for name, value in line.items() if name not in OF_EVERY_LINE}
        for line in lines
        if line["message"] == "request"
    ]


@pytest.fixture(autouse=True)
def _at_info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="gateway.http.access_log")
    caplog.handler.setFormatter(JsonFormatter())


@pytest.mark.parametrize("given", ["a", "01JD-x_y.z", "A" * 128])
def test_a_clients_own_identifier_is_kept(given: str) -> None:
    assert _ask(headers={"X-Request-Id": given}).header("x-request-id") == given


@pytest.mark.parametrize("given", ["", "a b", "ä", "a" * 129, 'x"}', "a\n"])
def test_an_identifier_unfit_for_a_log_is_replaced(given: str) -> None:
    assert MADE.fullmatch(_ask(headers={"X-Request-Id": given}).header("x-request-id"))


def test_two_request_identifiers_are_ignored() -> None:
    scope = http_scope(headers={"X-Request-Id": "a"})
    scope["headers"] *= 2
    answered = ask(edge_of(_ok), scope)
    assert answered is not None
    assert MADE.fullmatch(answered.header("x-request-id"))


def test_two_requests_have_two_identifiers() -> None:
    assert _ask().header("x-request-id") != _ask().header("x-request-id")


def test_the_identifier_is_known_only_during_the_request() -> None:
    seen = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(request_fields.get())
        await _ok(scope, receive, send)

    answered = _ask(app=app)
    assert seen == [{"request_id": answered.header("x-request-id")}]
    assert request_fields.get() is None


def test_a_request_is_one_line_with_its_outcome(caplog: pytest.LogCaptureFixture) -> None:
    _ask(f"/api/messages/{MESSAGE}", query=b"token=hush")
    [line] = _lines(caplog)
    assert line.pop("duration_ms") >= 0
    assert MADE.fullmatch(line.pop("request_id"))
    assert line == {
        "method": "GET",
        "path": "/api/messages/{message_id}",
        "status": 200,
        "bytes": 5,
    }


def test_a_handlers_notes_are_in_the_line(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        note(message_id=MESSAGE)
        await _ok(scope, receive, send)

    _ask(app=app)
    assert _lines(caplog)[0]["message_id"] == MESSAGE


def test_a_request_without_a_response_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    async def hang_up(_scope: Scope, _receive: Receive, _send: Send) -> None:
        return

    assert ask(edge_of(hang_up), http_scope()) is None
    assert [line["status"] for line in _lines(caplog)] == [None]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_are_not_logged(caplog: pytest.LogCaptureFixture, path: str) -> None:
    assert _ask(path).header("x-request-id")
    assert not _lines(caplog)


def test_an_unknown_method_is_not_repeated_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    ask(edge_of(_ok), http_scope("SECRET"))
    assert _lines(caplog)[0]["method"] == "*"


def test_a_request_is_a_span_of_its_client_s_trace_without_its_tracestate() -> None:
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=zebra"}
    with gathered() as shown:
        _ask(f"/api/messages/{MESSAGE}", headers=headers)
    [span] = shown.get_finished_spans()
    assert (span.name, span.kind) == ("GET /api/messages/{message_id}", SpanKind.SERVER)
    assert span.parent is not None
    assert (f"{span.context.trace_id:x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert not span.context.trace_state
    assert span.status.is_ok


def test_the_span_of_a_request_with_a_key_names_the_account(account: Account) -> None:
    with gathered() as shown:
        _ask(headers={"Authorization": f"Bearer {ApiKey.issue(account, 'ci')[1]}"})
    [span] = shown.get_finished_spans()
    assert (span.attributes or {})["gateway.account_id"] == account.id


@pytest.mark.parametrize("parent", ["", "nonsense", "00-0-0-01", "\xff" * 5_000])
def test_an_invalid_traceparent_starts_a_new_trace(parent: str) -> None:
    with gathered() as shown:
        _ask(headers={"traceparent": parent})
    [span] = shown.get_finished_spans()
    assert span.parent is None


def test_the_span_of_a_request_that_failed_here_is_marked() -> None:
    async def fail(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})

    with gathered() as shown:
        ask(edge_of(fail), http_scope())
    [span] = shown.get_finished_spans()
    assert not span.status.is_ok


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_are_not_traced(path: str) -> None:
    with gathered() as shown:
        _ask(path)
    assert not shown.get_finished_spans()


@pytest.mark.usefixtures("state")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/numbers", "/api/numbers"),
        ("/api/numbers/", "*"),
        ("/api/messages/15551234567", "/api/messages/{message_id}"),
        ("/api/signup/acme/complete", "/api/signup/{slug}/complete"),
        ("/connect/acme", "/connect/<slug>"),
        ("/network/callback", "/network/callback"),
        ("/nothing/at/all", "*"),
    ],
)
def test_only_the_route_of_a_path_is_logged(
    configure: Configure, caplog: pytest.LogCaptureFixture, path: str, said: str
) -> None:
    answered = ask(build_app(configure()), http_scope(path=path))
    assert answered is not None
    assert MADE.fullmatch(answered.header("x-request-id"))
    assert _lines(caplog)[0]["path"] == said
