"""A crash in any handler is a 500 in the standard error shape, without details."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.types import ASGIApp

from contract_tests.bad_kinds import FORM_TYPE, GOOD_FORMS, required_query
from contract_tests.operations import Operation, all_operations
from gateway.api.app import build_app
from gateway.http.exception_handlers import CRASH_MESSAGE, FULL_MESSAGE, ApiError, as_api_error
from models.accounts.account import Account, ApiKey
from models.errors import InvalidError, RateLimitedError, UnavailableError
from resources.error import help_link
from tests.asgi import Answered, ask, http_scope
from tests.conftest import Configure

SECRET = "the password is swordfish"
LIMIT_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
Handler = Callable[..., object]


def _raise(**_: object) -> object:
    raise RuntimeError(SECRET)


def _fail_lookup(**_: object) -> object:
    raise KeyError(SECRET)


def _return_an_unserializable_value(**_: object) -> object:
    return {"secret": object()}


def _return_an_invalid_header(**_: object) -> object:
    return {}, 200, {"X-Secret": f"{SECRET}\r\nX-Other: 1"}


def _app(configure: Configure, monkeypatch: pytest.MonkeyPatch, handler: Handler) -> ASGIApp:
    """The whole application, with one handler for all operations."""
    monkeypatch.setattr("gateway.api.app.handler_of", lambda _: handler)
    return build_app(configure())


@pytest.fixture
def key(account: Account) -> str:
    """A key of the account."""
    return ApiKey.issue(account, "test")[1]


def _ask(app: ASGIApp, operation: Operation, key: str) -> Answered:
    values = {p["name"]: p["example"] for p in operation.parameters if p["in"] == "path"}
    headers = {"Host": "127.0.0.1", "Authorization": f"Bearer {key}"}
    body = b""
    if operation.body_schema is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(operation.body_example).encode()
    if operation.takes_form:
        headers["Content-Type"] = FORM_TYPE.decode()
        body = GOOD_FORMS["uploadMedia"]
    path = operation.path.format(**values)
    query = required_query(operation).removeprefix(b"?")
    answered = ask(app, http_scope(operation.method, path, query=query, headers=headers), [body])
    assert answered is not None
    return answered


def _check_crash(answered: Answered) -> None:
    assert answered.status == 500
    assert answered.body == ApiError(CRASH_MESSAGE).body.encode()
    assert answered.error == {
        "code": "INTERNAL_ERROR",
        "message": CRASH_MESSAGE,
        "status": 500,
        "details": {"help": help_link("INTERNAL_ERROR")},
    }
    assert answered.header("content-type") == "application/json"
    assert all(answered.header(name).isdecimal() for name in LIMIT_HEADERS)
    assert SECRET not in str(answered.headers)


def _check_logged(caplog: pytest.LogCaptureFixture, count: int) -> None:
    """Each crash is logged with its reason."""
    crashes = [record for record in caplog.records if "crash" in record.getMessage()]
    assert len(crashes) == count
    assert all(record.exc_info is not None for record in crashes)


@pytest.mark.parametrize(
    "handler",
    [_raise, _fail_lookup, _return_an_unserializable_value, _return_an_invalid_header],
)
def test_a_crash_of_any_operation_is_reported_without_its_reason(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    key: str,
    handler: Handler,
) -> None:
    app = _app(configure, monkeypatch, handler)
    for operation in all_operations():
        _check_crash(_ask(app, operation, key))
    _check_logged(caplog, len(all_operations()))


def test_an_address_that_cannot_be_checked_is_no_error_of_the_request(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UnavailableError("The url cannot be checked.", retry_after=5)

    app = _app(configure, monkeypatch, fail)
    for operation in all_operations():
        if operation.id in {"createWebhook", "updateWebhook"}:
            answered = _ask(app, operation, key)
            assert (answered.status, answered.error["code"]) == (503, "SERVICE_UNAVAILABLE")
            assert answered.header("retry-after") == "5"


INVALID = "VALIDATION_ERROR"


def _body(error: Exception) -> Any:
    return json.loads(as_api_error(error, "", "").body)["error"]


def test_an_error_contains_the_known_details() -> None:
    told = _body(InvalidError("No.", network_code=131026, field="/to", message_id="msg_1"))
    assert told["details"] == {
        "networkCode": 131026,
        "field": "/to",
        "messageId": "msg_1",
        "help": help_link("VALIDATION_ERROR"),
    }
    assert _body(InvalidError("No.", field="/to"))["details"]["field"] == "/to"
    assert list(_body(InvalidError("No."))["details"]) == ["help"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_file_that_finds_no_room_is_a_full_disk(number: int) -> None:
    assert _body(OSError(number, os.strerror(number)))["message"] == FULL_MESSAGE
    assert _body(OSError(errno.EACCES, SECRET))["message"] == CRASH_MESSAGE


def test_a_text_with_half_a_character_is_an_error_like_any_other() -> None:
    error = InvalidError("The network says \ud83d.", network_code=1)
    assert _body(error)["message"] == "The network says \ud83d."


def _raise_throttled(**_: object) -> object:
    raise RateLimitedError("Slow.", retry_after=7, network_code=130429, message_id="msg_1")


def test_the_error_of_a_handler_is_returned_with_its_details(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    app = _app(configure, monkeypatch, _raise_throttled)
    for operation in all_operations():
        answered = _ask(app, operation, key)
        assert answered.header("retry-after") == "7"
        assert answered.error == {
            "code": "RATE_LIMITED",
            "message": "Slow.",
            "status": 429,
            "details": {
                "networkCode": 130429,
                "messageId": "msg_1",
                "help": help_link("RATE_LIMITED"),
            },
        }


@pytest.mark.parametrize(
    ("change", "details"),
    [
        ({"text": {"body": ""}}, {"field": "/text/body"}),
        ({"type": "texts"}, {"field": "/type"}),
        ({"no~such/property": 1}, {"field": "/no~0such~1property"}),
    ],
)
def test_a_contract_violation_is_reported_with_its_location(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    change: dict[str, object],
    details: dict[str, str],
) -> None:
    app = _app(configure, monkeypatch, _raise)
    [send] = [operation for operation in all_operations() if operation.id == "sendMessage"]
    spoilt = replace(send, body_examples={"spoilt": send.body_example | change})
    error = _ask(app, spoilt, key).error
    assert (error["status"], error["details"]) == (400, details | {"help": help_link(INVALID)})


def test_a_crash_outside_of_handlers_has_the_same_error(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    key: str,
) -> None:
    def crash(_: str) -> tuple[ApiKey, Account]:
        raise RuntimeError(SECRET)

    app = _app(configure, monkeypatch, _raise)
    monkeypatch.setattr(ApiKey, "unrevoked", crash)
    _check_crash(_ask(app, all_operations()[0], key))
    _check_logged(caplog, 1)
