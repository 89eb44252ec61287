"""Requests against the contract's schemas: strict where the framework is lax."""

import asyncio
import contextlib
import gc
import json
import re
from typing import Any

import pytest
from connexion.exceptions import BadRequestProblem, UnsupportedMediaTypeProblem
from connexion.lifecycle import ConnexionRequest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Message

from gateway.api.checks import JsonBody, Parameters
from gateway.api.operations import BODY, LARGE_BODY
from tests.asgi import http_scope

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["to"],
    "additionalProperties": False,
    "properties": {
        "to": {"type": "string", "pattern": "^[0-9]+$"},
        "count": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
}
VALIDATOR = JsonBody(schema=SCHEMA, required=True)
OPTIONAL = JsonBody(schema=SCHEMA, required=False)
PARAMETERS: list[dict[str, Any]] = [
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100}},
    {"name": "status", "in": "query", "schema": {"type": "string", "enum": ["sent", "read"]}},
    {
        "name": "kind",
        "in": "query",
        "style": "form",
        "explode": False,
        "schema": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b"]}},
    },
    {
        "name": "id",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
]


def _check_body(body: bytes, content_type: str | None = "application/json", **more: str) -> Any:
    """Validate a body. Returns the value that the handler gets."""
    headers = {} if content_type is None else {"content-type": content_type}
    return _checked(VALIDATOR, body, headers | more)


def _check_optional(body: bytes, content_type: str | None = "application/json") -> Any:
    return _checked(OPTIONAL, body, {} if content_type is None else {"content-type": content_type})


async def _receive() -> Message:
    raise AssertionError("the edge has read the body")


def _checked(validator: JsonBody, body: bytes, headers: dict[str, str]) -> Any:
    scope = http_scope("POST", headers=headers)
    scope[BODY] = body
    asyncio.run(validator.wrap_receive(_receive, scope=scope))
    return ConnexionRequest(scope).context["payload"]


def _problem(body: bytes) -> BadRequestProblem:
    with pytest.raises(BadRequestProblem) as caught:
        _check_body(body)
    return caught.value


def _refused(body: bytes) -> str:
    detail = str(_problem(body).detail)
    assert detail.startswith("Request body")
    return detail


def _check_parameters(query: bytes = b"", **headers: str) -> None:
    scope = http_scope(query=query, headers={k.replace("_", "-"): v for k, v in headers.items()})
    scope["path_params"] = {"id": "msg_1"}
    Parameters(PARAMETERS).validate(scope)


def test_a_body_that_fits_is_handed_on_as_it_was_parsed() -> None:
    body = b' {"to" : "1555", "tags": ["\\u00e1"] } '
    assert _check_body(body) == {"to": "1555", "tags": ["\u00e1"]}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b"{'to': '1'}",
        b'{"to": "1",}',
        b'{"to": "1"} {}',
        b'{"to": "1", "count": NaN}',
        b'{"to": "1", "count": Infinity}',
        b'{"to": "1", "tags": ["\\ud800"]}',
        b'{"to": "1", "tags": ["\xff"]}',
        b'{"to": "1", "tags": ["\xed\xa0\x80"]}',
        b'\xef\xbb\xbf{"to": "1"}',
        '{"to": "1"}'.encode("utf-16"),
        b'{"to": "1", "tags": ["a\x00b"]}',
        b"[" * 100_000,
        b'{"to":' * 50_000 + b"1" + b"}" * 50_000,
    ],
)
def test_a_body_that_is_not_strict_json_in_utf_8_is_refused(body: bytes) -> None:
    _refused(body)


@pytest.mark.parametrize(
    ("body", "byte"),
    [
        (b'{"to": "\xff"}', 9),
        (b"\xe9", 1),
        (b'{"to": "\xed\xa0\x80"}', 9),
        (b'{"to": "1\xc3', 10),
        ('{"to": "1"}'.encode("utf-16-le")[::-1] + b"\xff", 23),
        (b'{"to": "\\ud800"}', None),
        (b'{"to": 1,}', None),
    ],
)
def test_the_error_of_bytes_that_are_not_utf_8_names_the_first(
    body: bytes, byte: int | None
) -> None:
    told = _refused(body)
    assert ("surrogates" in told, "UTF-8" in told) == (False, byte is not None)
    assert re.findall(r"byte (\d+)", told) == ([] if byte is None else [str(byte)])


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{}", "to"),
        (b'{"to": 1}', "to"),
        (b'{"to": "+1"}', "to"),
        (b'{"to": "1", "count": 1.5}', "count"),
        (b'{"to": "1", "count": "1"}', "count"),
        (b'{"to": "1", "count": true}', "count"),
        (b'{"to": "1", "tags": ["a", 2]}', "tags.1"),
        (b'{"to": "1", "tags": ["a", "a"]}', "tags"),
        (b'{"to": "1", "tto": "1"}', "tto"),
        (b"[]", "object"),
        (b"null", "object"),
        (b'"text"', "object"),
    ],
)
def test_a_schema_violation_is_refused_with_its_location(body: bytes, named: str) -> None:
    assert named in _refused(body)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{}", {"field": "/to"}),
        (b'{"to": "1", "tags": ["a", 2]}', {"field": "/tags/1"}),
        (b"[]", None),
        (b"{", None),
        (b"", None),
    ],
)
def test_an_error_gives_the_location_as_a_json_pointer(
    body: bytes, field: dict[str, str] | None
) -> None:
    assert _problem(body).ext == field


def test_an_error_is_specific_without_repeating_a_long_body() -> None:
    told = _refused(json.dumps({"to": "x" * 100_000}).encode())
    assert told.startswith('Request body, to: "xxx')
    assert "does not match: Only digits" in told
    assert len(told) < 400


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; charset=utf8",
    ],
)
def test_json_in_utf_8_is_taken_under_any_of_its_names(content_type: str) -> None:
    _check_body(b'{"to": "1"}', content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
    ],
)
def test_no_media_type_and_any_other_charset_is_415(content_type: str | None) -> None:
    with pytest.raises(UnsupportedMediaTypeProblem):
        _check_body(b'{"to": "1"}', content_type)


def test_a_packed_body_is_415() -> None:
    with pytest.raises(UnsupportedMediaTypeProblem):
        _check_body(b'{"to": "1"}', **{"content-encoding": "gzip"})
    _check_body(b'{"to": "1"}', **{"content-encoding": "identity"})


@pytest.mark.parametrize("content_type", [None, "application/json", "text/plain"])
def test_an_optional_body_may_be_absent(content_type: str | None) -> None:
    assert _check_optional(b"", content_type) is None


def test_an_optional_body_that_is_there_is_checked_like_any_other() -> None:
    assert _check_optional(b'{"to": "1"}') == {"to": "1"}
    for body in (b" ", b"null", b"{}", b'{"to": 1}'):
        with pytest.raises(BadRequestProblem):
            _check_optional(body)
    with pytest.raises(UnsupportedMediaTypeProblem):
        _check_optional(b'{"to": "1"}', None)


@settings(deadline=None)  # The time would depend on the machine's load.
@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_arbitrary_bytes_never_crash_the_validator(body: bytes) -> None:
    with contextlib.suppress(BadRequestProblem):
        assert json.loads(_check_body(body))["to"].isdecimal()


@pytest.mark.parametrize(
    "query",
    [
        b"",
        b"limit=1",
        b"limit=100&status=sent",
        b"limit=%31%30",
        b"kind=a",
        b"kind=a,b",
        b"kind=a%2Cb",
    ],
)
def test_parameters_that_fit_pass(query: bytes) -> None:
    _check_parameters(query)


@pytest.mark.parametrize(
    "query",
    [
        b"limit=0",
        b"limit=101",
        b"limit=-1",
        b"limit=",
        b"limit",
        b"limit=1.0",
        b"limit=1e1",
        b"limit=+1",
        b"limit=%201",
        b"limit=1_0",
        b"limit=0x1",
        b"limit=true",
        b"limit=%D9%A1",
        b"limit=" + b"9" * 5000,
        b"status=SENT",
        b"kind=",
        b"kind=a,",
        b"kind=a,c",
        b"kind=a,b,a",
        b"kind=a&kind=c",
        b"kind=a&kind=b&kind=a",
        b"kind=a&kind=",
        b"status=",
        b"limit=1&limit=1",
        b"limit=1&limit=2",
        b"limit=1&%6cimit=1",
        b"Limit=1",
        b"other=1",
        b"limit[]=1",
        b"=1",
        b"status=%FF",
        b"\xff=1",
        b"&".join(b"p%d=1" % i for i in range(200)),
    ],
)
def test_parameters_that_do_not_fit_are_refused(query: bytes) -> None:
    with pytest.raises(BadRequestProblem):
        _check_parameters(query)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (b"limit=0", "/limit"),
        (b"limit=x", "/limit"),
        (b"status=gone", "/status"),
        (b"kind=a,c", "/kind"),
        (b"kind=a&kind=c", "/kind"),
        (b"limit=1&limit=2", "/limit"),
        (b"other=1", "/other"),
        (b"o/r=1", "/o~1r"),
    ],
)
def test_a_query_parameter_that_does_not_fit_is_named(query: bytes, field: str) -> None:
    with pytest.raises(BadRequestProblem) as caught:
        _check_parameters(query)
    assert caught.value.ext == {"field": field}


@pytest.mark.parametrize(("place", "field"), [("query", {"field": "/limit"}), ("path", None)])
def test_a_missing_parameter_of_the_query_is_named(
    place: str, field: dict[str, str] | None
) -> None:
    parameter = {"name": "limit", "in": place, "required": True, "schema": {"type": "integer"}}
    with pytest.raises(BadRequestProblem, match=f"{place.capitalize()} parameter limit") as caught:
        Parameters([parameter]).validate(http_scope())
    assert caught.value.ext == field


@pytest.mark.parametrize("query", [b"kind=a,b", b"kind=a&kind=b", b"kind=a&limit=1&kind=b"])
def test_a_list_is_separated_by_commas_or_repeated(query: bytes) -> None:
    _check_parameters(query)


@pytest.mark.parametrize("value", ["k", "a" * 255, "!~", "2b1f-key:1"])
def test_an_idempotency_key_is_visible_ascii(value: str) -> None:
    _check_parameters(idempotency_key=value)


@pytest.mark.parametrize("value", ["", "a" * 256, "two words", "tab\t", "é", "\x7f"])
def test_any_other_idempotency_key_is_refused(value: str) -> None:
    with pytest.raises(BadRequestProblem, match="Idempotency-Key"):
        _check_parameters(idempotency_key=value)


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_change_that_takes_no_idempotency_key_refuses_one(method: str) -> None:
    others = [each for each in PARAMETERS if each["name"] != "Idempotency-Key"]
    reading, changing = (
        {**http_scope(each, headers={"Idempotency-Key": "a"}), "path_params": {"id": "msg_1"}}
        for each in ("GET", method)
    )
    Parameters(others).validate(reading)
    Parameters(PARAMETERS).validate(changing)
    with pytest.raises(BadRequestProblem, match="Idempotency-Key has no effect"):
        Parameters(others).validate(changing)


def test_a_header_that_comes_twice_is_refused() -> None:
    scope = http_scope(headers={"Idempotency-Key": "a"})
    scope["headers"] *= 2
    scope["path_params"] = {"id": "msg_1"}
    with pytest.raises(BadRequestProblem, match="more than once"):
        Parameters(PARAMETERS).validate(scope)


@pytest.mark.parametrize("identifier", ["", "a b", "é", "a" * 65, "a\n", "../etc"])
def test_a_path_parameter_that_cannot_be_an_identifier_is_refused(identifier: str) -> None:
    scope = http_scope()
    scope["path_params"] = {"id": identifier}
    with pytest.raises(BadRequestProblem, match="Path parameter id") as caught:
        Parameters(PARAMETERS).validate(scope)
    assert caught.value.ext is None
    scope["path_params"] = {}
    with pytest.raises(BadRequestProblem, match="id is missing"):
        Parameters(PARAMETERS).validate(scope)


def test_the_memory_of_a_large_body_that_is_refused_is_free_without_a_garbage_collection() -> None:
    async def refuse() -> None:
        scope = http_scope("POST", headers={"content-type": "application/json"})
        scope[BODY] = b"[%b1]" % (b"1," * LARGE_BODY)
        with contextlib.suppress(BadRequestProblem):
            await VALIDATOR.wrap_receive(_receive, scope=scope)

    async def cycles() -> int:
        await refuse()
        gc.collect()
        await refuse()
        return gc.collect()

    gc.disable()
    try:
        assert asyncio.run(cycles()) == 0
    finally:
        gc.enable()
