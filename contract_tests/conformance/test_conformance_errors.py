"""Errors: one body shape, and the code of each condition.

Every exchange of the suite that ends in an error is checked for the shape. This module tests the
conditions that belong to no resource.
"""

import json
from itertools import islice
from typing import Any

import pytest
import requests

from contract_tests.broken_bodies import all_broken
from contract_tests.conformance.exchange import Api, Contract, check_error, check_rate_limit
from contract_tests.conformance.operations import (
    OPERATIONS,
    VERBS,
    WITH_BODY,
    Operation,
    name_of,
)
from contract_tests.conformance.world import new_recipient, text_to
from contract_tests.harness import Gateway

MEBIBYTE = 1024 * 1024
PATHS = sorted({operation.path for operation in OPERATIONS})
UNREADABLE = {
    "empty": b"",
    "blank": b"  ",
    "text": b"hello",
    "cut off": b'{"number_id": "num_x"',
    "single quotes": b"{'number_id': 'num_x'}",
    "a comma too many": b'{"number_id": "num_x",}',
    "two documents": b"{} {}",
    "NaN": b'{"number_id": NaN}',
    "infinity": b'{"number_id": 1e999}',
    "not UTF-8": b'{"number_id": "\xff\xfe"}',
    "UTF-16": '{"number_id": "num_x"}'.encode("utf-16"),
    "half a surrogate": b'{"number_id": "\\ud800"}',
    "nested deeply": b"[" * 100_000,
}
NO_OBJECT: list[Any] = [None, True, 0, "text", [], [{}]]


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("path", ["/messages/send", "/webhooks"])
def test_a_body_that_is_not_json_fails_validation(api: Api, path: str, body: bytes) -> None:
    """400 VALIDATION_ERROR: Request body or query parameters fail validation."""
    api.post(path, 400, data=body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("operation", WITH_BODY, ids=name_of)
@pytest.mark.parametrize("body", NO_OBJECT, ids=json.dumps)
def test_a_body_that_is_no_object_fails_validation(
    api: Api, operation: Operation, body: Any
) -> None:
    """The same."""
    text = json.dumps(body)
    headers = {"Content-Type": "application/json"}
    refused = api.call(operation.method, operation.filled(), 400, data=text, headers=headers)
    assert api.contract.refuses(refused.request)


@pytest.mark.parametrize(
    "query", ["limit=%ff", "limit=1&limit=2", "limit", "limit=", "limit=%00", "limit=1%0a"]
)
def test_a_malformed_query_fails_validation(api: Api, query: str) -> None:
    """The same for query parameters."""
    api.get(f"/numbers?{query}", 400)


@pytest.mark.parametrize(
    "path",
    [
        "/api/nothing",
        "/api/",
        "/api",
        "/api/webhooks/",
        "/api/webhooks/wh_1/nothing",
        "/api/numbers//",
        "/nothing",
        "/api/%2e%2e/numbers",
        "/API/numbers",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_not_found(gateway: Gateway, api: Api, method: str, path: str) -> None:
    """'404 NOT_FOUND: Resource does not exist', with and without a key."""
    for headers in ({}, {"Authorization": f"Bearer {api.key}"}):
        answer = requests.request(
            method, gateway.url + path, headers=headers, timeout=5, allow_redirects=False
        )
        check_error(answer, 404)
        check_rate_limit(answer)


@pytest.mark.parametrize("path", PATHS)
def test_an_unsupported_method_is_not_allowed(api: Api, contract: Contract, path: str) -> None:
    """405, and the header Allow lists the contract's methods."""
    has = {verb.upper() for verb in VERBS if verb in contract.document["paths"][path]}
    allowed = has | ({"HEAD"} if "GET" in has else set())
    known = next(operation for operation in OPERATIONS if operation.path == path)
    for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - allowed:
        headers = {"Authorization": f"Bearer {api.key}"}
        url = api.base + known.filled()
        answer = requests.request(method, url, headers=headers, timeout=5)
        assert answer.status_code == 405, method
        assert set(answer.headers["Allow"].split(", ")) == allowed
        check_rate_limit(answer)
        if method != "HEAD":
            contract.check_response(answer)
            check_error(answer, 405)


def test_a_body_of_one_mebibyte_is_accepted_and_one_byte_more_is_not(
    api: Api, number: dict[str, str]
) -> None:
    """413 above 1 MiB. White space makes the body long."""
    body = json.dumps(text_to(number["id"], new_recipient())).encode()
    headers = {"Content-Type": "application/json"}
    api.post("/messages/send", data=body.ljust(MEBIBYTE), headers=headers)
    api.post("/messages/send", 413, data=body.ljust(MEBIBYTE + 1), headers=headers)


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if not o.takes_form], ids=name_of)
def test_every_operation_limits_the_size_of_its_body(api: Api, operation: Operation) -> None:
    """The same for operations without a body, and for a body of unknown length."""
    pieces = (b" " * 65_536 for _ in range(17))
    headers = {"Content-Type": "application/json"}
    api.call(operation.method, operation.filled(), 413, data=pieces, headers=headers)


def test_an_error_names_what_is_wrong(api: Api, number: dict[str, str]) -> None:
    """'error.message: string', for a person who has to fix the request."""
    cases = (
        (text_to(number["id"], "15551234567") | {"to": "+1555"}, "to"),
        (text_to(number["id"], "15551234567") | {"type": "carrier-pigeon"}, "type"),
        ({"to": "15551234567", "type": "text", "text": {"body": "x"}}, "number_id"),
    )
    for body, name in cases:
        assert name in api.post("/messages/send", 400, json=body)["error"]["message"]
    assert "limit" in api.get("/numbers?limit=500", 400)["error"]["message"]


def test_a_head_request_is_answered_like_a_get_without_a_body(api: Api) -> None:
    """The header Allow promises HEAD."""
    headers = {"Authorization": f"Bearer {api.key}"}
    answer = requests.head(f"{api.base}/numbers", headers=headers, timeout=5)
    assert answer.status_code == 200
    assert answer.content == b""
    check_rate_limit(answer)


def test_a_body_that_breaks_one_rule_is_refused_with_the_place_of_the_mistake(api: Api) -> None:
    """Each 50th of the bodies that tests of the validator check in full."""
    operations = {operation.id: operation for operation in WITH_BODY}
    for described, broken in islice(all_broken(), 0, None, 50):
        operation = operations[described.id]
        refused = api.call(operation.method, operation.filled(), 400, json=broken.body)
        error = refused.json()["error"]
        assert error.get("details", {}).get("field", "") == broken.pointer
        assert error["message"].startswith("Request body")
