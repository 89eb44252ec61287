"""The API request log: the stored requests and their fields, and that no request waits for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from peewee import OperationalError
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.operations import Part
from gateway.http import access_log
from gateway.http.access_log import RequestLog
from gateway.http.admission import RateLimiter
from gateway.http.edge import Edge
from gateway.http.request_log import HIDDEN, without_text
from gateway.ops.metrics import REQUEST_LOG_DROPPED
from models.accounts.account import Account, ApiKey
from models.accounts.api_request import ApiRequest
from models.errors import ConflictError
from tests.asgi import OPERATIONS, PLANS, ask_in_loop, http_scope
from tests.conftest import Clock

BANNED = "The number num_1 is BANNED."
MESSAGE = "msg_01JD5ZB3Q8H2M6F4S9KX7T1W5C"
NUMBER = "num_01JD5Z8K4T9QW3X7VB2N6M1R0P"


async def _ok(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"12345"})


async def _conflict(*_: object) -> None:
    raise ConflictError(BANNED, message_id=MESSAGE)


@pytest.fixture
def key(account: Account) -> str:
    return ApiKey.issue(account, "test")[1]


def _run(
    requests: Callable[[Edge], Awaitable[object]], app: ASGIApp = _ok, *, is_on: bool = True
) -> list[ApiRequest]:
    """The log after these requests, newest first."""

    async def run() -> None:
        log = RequestLog(is_on=is_on)
        edge = Edge(dict.fromkeys(Part, app), OPERATIONS, RateLimiter(PLANS), 2, log)
        await requests(edge)
        await log.finish()

    asyncio.run(run())
    return list(ApiRequest.select().order_by(ApiRequest.id.desc()))


def _ask(
    key: str | None, method: str = "GET", path: str = "/api/messages", query: bytes = b""
) -> Callable[[Edge], Awaitable[object]]:
    headers = {"X-Request-Id": "mine"} | ({"Authorization": f"Bearer {key}"} if key else {})
    scope = http_scope(method, path, query=query, headers=headers)
    return lambda edge: ask_in_loop(edge, scope)


def test_a_request_is_kept_with_its_key_and_outcome(
    key: str, account: Account, clock: Clock
) -> None:
    [row] = _run(_ask(key, path=f"/api/messages/{MESSAGE}"))
    assert row.account_id == account.id
    assert row.key_id == ApiKey.unrevoked(key)[0].id  # type: ignore[index]
    assert (row.method, row.path, row.operation) == (
        "GET",
        f"/api/messages/{MESSAGE}",
        "getMessage",
    )
    assert (row.status, row.request_id, row.error) == (200, "mine", None)
    assert clock.at - 10_000 < row.created_at <= clock.at


def test_a_failed_one_is_kept_with_its_error(key: str) -> None:
    [row] = _run(_ask(key), _conflict)
    assert row.status == 409
    assert row.error == {
        "code": "CONFLICT",
        "message": BANNED,
        "status": 409,
        "details": {"messageId": MESSAGE},
    }


def test_a_crash_is_kept_as_the_client_saw_it(key: str) -> None:
    async def crash(*_: object) -> None:
        raise ZeroDivisionError

    [row] = _run(_ask(key), crash)
    assert row.error is not None
    assert row.error["code"] == "INTERNAL_ERROR"


@pytest.mark.parametrize("path", ["/api/ui/", "/api/openapi.yaml", "/healthz", "/dashboard/"])
def test_pages_and_probes_are_not_kept(key: str, path: str) -> None:
    assert _run(_ask(key, path=path)) == []


def test_a_request_without_a_valid_key_belongs_to_no_account(account: Account) -> None:
    assert account.id
    assert _run(_ask("mk_live_unknown")) == _run(_ask(None)) == []


def test_a_path_that_does_not_exist_is_not_kept(key: str) -> None:
    assert _run(_ask(key, path="/api/nothing")) == []


def test_it_can_be_turned_off(key: str) -> None:
    assert _run(_ask(key), is_on=False) == []


def test_the_slug_of_a_signup_link_is_not_kept(key: str) -> None:
    [row] = _run(_ask(key, path="/api/signup/secret-slug"))
    assert row.path == "/api/signup/{slug}"


def _logged(
    query: bytes = b"", error: dict[str, Any] | None = None, **params: str
) -> dict[str, Any]:
    """The entry of a request of a person's settings, as it is kept."""
    route = "/api/numbers/{number_id}/blocks/{person}"
    status, body = (200, b"") if error is None else (400, orjson.dumps({"error": error}))
    params = {"number_id": NUMBER, "person": "15551234567"} | params
    entry = {"route": route, "params": params, "query": query, "status": status, "error_json": body}
    return without_text(entry)


def test_a_path_keeps_identifiers_and_no_other_parameter() -> None:
    assert _logged()["path"] == f"/api/numbers/{NUMBER}/blocks/{HIDDEN}"
    assert _logged(number_id="my-quagga")["path"] == f"/api/numbers/{HIDDEN}/blocks/{HIDDEN}"


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        (b"", ""),
        (b"limit=5&since=2026-11-20T09:30:00Z", "limit=5&since=2026-11-20T09:30:00Z"),
        (b"status=failed&direction=INBOUND&type=text", "status=failed&direction=INBOUND&type=text"),
        (b"kind=message.sent,message.read", "kind=message.sent%2Cmessage.read"),
        (b"name=Ada+Lovelace&errorText=quagga", f"name={HIDDEN}&errorText={HIDDEN}"),
        (
            b"status=quagga&type=quagga&waMessageId=c2VjcmV0",
            f"status={HIDDEN}&type={HIDDEN}&waMessageId={HIDDEN}",
        ),
        (b"phone=15551234567", f"phone={HIDDEN}"),
        (b"quagga=5", f"{HIDDEN}=5"),
    ],
)
def test_a_query_keeps_names_and_words_of_the_contract(query: bytes, kept: str) -> None:
    assert _logged(query)["query"] == kept


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            'Request body, text.body: "my quagga is not here ... quagga" is longer than 4096 characters',
            f"Request body, text.body: {HIDDEN} is longer than 4096 characters",
        ),
        (
            'Request body, text: {"a":"b quagga"} is not of type "string"',
            f'Request body, text: {HIDDEN} is not of type "string"',
        ),
        (
            'Request body, to: 15551234567 is not of type "string"',
            f'Request body, to: {HIDDEN} is not of type "string"',
        ),
        (
            'Request body, to: "+1 555 1234567" does not match: digits. Write "15551234567".',
            f'Request body, to: {HIDDEN} does not match: digits. Write "{HIDDEN}".',
        ),
        ('Request body: "to" is a required property', 'Request body: "to" is a required property'),
        (
            "Request body: Additional properties are not allowed ('it's quagga', 'b' were unexpected)",
            f"Request body: Additional properties are not allowed ({HIDDEN} were unexpected)",
        ),
        (
            "Request body: Additional properties are not allowed ('quagga' was unexpected). Known are to.",
            f"Request body: Additional properties are not allowed ({HIDDEN} was unexpected). Known are to.",
        ),
        (
            'The content type "quagga/quagga" is not supported. Send application/json.',
            f'The content type "{HIDDEN}" is not supported. Send application/json.',
        ),
        ("Query parameter 'quagga' is not known.", f'Query parameter "{HIDDEN}" is not known.'),
        (
            "The type of the file 'quagga.xyz' is unknown. The sandbox's file.",
            f'The type of the file "{HIDDEN}" is unknown. The sandbox\'s file.',
        ),
        (f"There is no number {NUMBER}.", f"There is no number {NUMBER}."),
        ("15551234567 of 20000000 bytes", f"{HIDDEN} of 20000000 bytes"),
    ],
)
def test_an_error_does_not_repeat_what_was_sent(message: str, kept: str) -> None:
    entry = _logged(error={"message": message})
    assert orjson.loads(entry["error_json"])["message"] == kept


def test_an_error_does_not_repeat_values_of_path_and_query() -> None:
    error = {"message": "There is no quagga in a-quagga."}
    entry = _logged(b"name=quagga", error, person="a-quagga")
    assert orjson.loads(entry["error_json"])["message"] == f"There is no {HIDDEN} in {HIDDEN}."


def test_an_error_keeps_the_code_of_the_network_without_its_words() -> None:
    known = {"networkCode": 131009, "networkTraceId": "AbC_1-x"}
    words = {"networkTitle": "quagga", "networkMessage": "quagga", "networkDetails": "quagga"}
    error = {"message": "Refused: 131009 quagga text", "details": known | words}
    kept = orjson.loads(_logged(error=error)["error_json"])
    assert (kept["message"], kept["details"]) == ("Refused: 131009", known)


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        ("/text/body", "/text/body"),
        ("/template/components/0", "/template/components/0"),
        ("/my quagga/body", f"/{HIDDEN}/body"),
    ],
)
def test_the_field_of_an_error_has_names_of_the_contract_only(field: str, kept: str) -> None:
    entry = _logged(error={"message": "", "details": {"field": field, "other": "quagga"}})
    assert orjson.loads(entry["error_json"])["details"] == {"field": kept}


def test_refusals_of_the_rate_limit_are_kept_up_to_a_bound(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "MOST_THROTTLED", 2)

    async def many(edge: Edge) -> None:
        for _ in range(PLANS["pro"] + 5):
            await _ask(key)(edge)

    assert [row.status for row in _run(many)] == [429] * 2 + [200] * PLANS["pro"]


def test_entries_are_dropped_and_counted_while_the_database_is_slow(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "MOST_WAITING", 2)
    before = REQUEST_LOG_DROPPED._value.get()

    async def many(edge: Edge) -> None:
        for _ in range(5):
            await _ask(key)(edge)

    assert len(_run(many)) == 2
    assert REQUEST_LOG_DROPPED._value.get() - before == 3


def test_a_database_that_fails_fails_no_request(
    key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    error = OperationalError("disk full")

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(ApiRequest, "record", fail)
    # Not the line of the request, which an earlier test may have enabled.
    caplog.set_level("WARNING", "gateway")
    assert _run(_ask(key)) == []
    assert [(r.levelname, r.args) for r in caplog.records] == [("WARNING", (1, error))]


def test_entries_are_written_by_themselves_after_a_moment(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "PAUSE_SECONDS", 0.01)
    found: list[int] = []

    async def wait(edge: Edge) -> None:
        for _ in range(2):
            await _ask(key)(edge)
            async with asyncio.timeout(10):
                while ApiRequest.select().count() == len(found):  # noqa: ASYNC110 - another thread writes
                    await asyncio.sleep(0.005)
            found.append(ApiRequest.select().count())

    _run(wait)
    assert found == [1, 2]
