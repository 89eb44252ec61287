"""Requests against the contract: Connexion's ``validator_map``, stricter and faster than its own.

The body is read as strict UTF-8 JSON (no NaN, no unpaired surrogates, bounded nesting). Parameters are
given once each, and integers are digits only. Schemas are compiled once.
"""

import re
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import orjson
from connexion.exceptions import BadRequestProblem, UnsupportedMediaTypeProblem
from starlette.concurrency import run_in_threadpool
from starlette.types import Message, Receive, Scope

from gateway.api.complaint import complaint
from gateway.http.bodies import BODY_KEY, whole
from handlers.forms import Form

MEDIA_TYPE = "application/json"
FORM_TYPE = "multipart/form-data"
UTF_8 = {"utf-8", "utf8"}
MAX_MESSAGE_CHARACTERS = 300
MAX_QUERY_PARAMETERS = 100
INTEGER = re.compile(r"-?[0-9]{1,30}", re.ASCII)

BODY = "Request body"
# To parse and check more takes the event loop longer than a thread costs.
LARGE = 64 * 1024


def _check_value(schema: dict[str, Any], value: Any, where: str) -> None:
    """Raise BadRequestProblem, which says what is wrong with ``value`` and where, unless it fits."""
    if (told := complaint(schema, value)) is None:
        return
    inside = "".join(f"{'.' if i else ', '}{part}" for i, part in enumerate(told.place))
    problem = BadRequestProblem(f"{where}{inside}: {_shortened(told.message)}")
    if where == BODY and told.pointer is not None:
        problem.ext = {"field": told.pointer}
    raise problem


def _shortened(message: str) -> str:
    """A message without its middle, where it repeats a long value: what is wrong stands at its end."""
    half = MAX_MESSAGE_CHARACTERS // 2
    long = len(message) > MAX_MESSAGE_CHARACTERS
    return f"{message[:half]} ... {message[-half:]}" if long else message


def keep_payload(scope: Scope, payload: Any) -> None:
    """Have Connexion pass what the body says to the handler, as the argument ``payload``."""
    scope.setdefault("extensions", {}).setdefault("connexion_context", {})["payload"] = payload


async def _no_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


class JsonBody:
    """Connexion's validator of a JSON body, which parses it once for everybody. Raises 400 or 415.

    A body that is not required may be absent. Connexion makes one of these for each request.
    """

    def __init__(self, *, schema: dict[str, Any], required: bool, **_: object) -> None:
        self._schema = schema
        self._required = required

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        """Check the body. Returns a request without one, with what was parsed as its payload."""
        body = await whole(receive)
        if not (body or self._required):
            keep_payload(scope, None)
            return _no_more, scope
        _check_content_type(scope)
        if not body:
            raise BadRequestProblem(f"{BODY}: it is empty. Send a JSON object.")
        read = partial(self._read, body)
        payload = read() if len(body) < LARGE else await run_in_threadpool(read)
        keep_payload(scope, payload)
        return _no_more, scope

    def _read(self, body: bytes) -> Any:
        payload = _parse(body)
        try:
            _check_value(self._schema, payload, BODY)
        except ValueError:
            # The schema's checker gives up some levels of nesting before the parser does.
            raise BadRequestProblem(f"{BODY}: it is nested too deeply.") from None
        return payload


def _check_content_type(scope: Scope) -> None:
    values = _header_values(scope, b"content-type")
    given = ", ".join(values)
    media_type, *parameters = given.split(";")
    if len(values) != 1 or media_type.strip().lower() != MEDIA_TYPE:
        raise UnsupportedMediaTypeProblem(
            f"The content type {given or '(none)'} is not supported. Send {MEDIA_TYPE}."
        )
    for name, _, charset in (parameter.partition("=") for parameter in parameters):
        if name.strip().lower() == "charset" and charset.strip("\"' ").lower() not in UTF_8:
            raise UnsupportedMediaTypeProblem(
                f"The charset {charset} is not supported. Send UTF-8."
            )
    _check_coding(scope)


class FormBody:
    """Connexion's validator of a form in parts: its headers only, for the handler reads the parts.

    The form goes past Connexion, which would parse a large file on the event loop and hold it in memory.
    """

    def __init__(self, **_: object) -> None:
        pass

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        """Check the headers. Raises 415. Returns a request without a form, with the form as its payload."""
        del receive
        values = _header_values(scope, b"content-type")
        media_type, *parameters = ", ".join(values).split(";")
        names = {parameter.partition("=")[0].strip().lower() for parameter in parameters}
        if len(values) != 1 or media_type.strip() != FORM_TYPE or "boundary" not in names:
            raise UnsupportedMediaTypeProblem(
                f"The content type {', '.join(values) or '(none)'} is not supported. "
                f"Send {FORM_TYPE} with its boundary."
            )
        _check_coding(scope)
        keep_payload(scope, Form(values[0], scope[BODY_KEY]))
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
        return _no_more, {**scope, "headers": headers}


def _check_coding(scope: Scope) -> None:
    for coding in _header_values(scope, b"content-encoding"):
        if coding.lower() != "identity":
            raise UnsupportedMediaTypeProblem(
                f"The content encoding {coding} is not supported. Send the body as it is."
            )


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequestProblem(f"{BODY}: it is not valid JSON in UTF-8: {error}") from None


class Parameters:
    """Connexion's validator of the parameters in path, query and headers. It makes one for each request."""

    def __init__(self, parameters: list[dict[str, Any]], **_: object) -> None:
        self._parameters = parameters
        self._queries = {p["name"] for p in parameters if p["in"] == "query"}
        self._headers = [p["name"] for p in parameters if p["in"] == "header"]

    def validate(self, scope: Scope) -> None:
        """Raise BadRequestProblem unless every parameter fits its schema."""
        query = read_query(scope["query_string"])
        for name in query:
            if name not in self._queries:
                raise BadRequestProblem(f"Query parameter {name[:64]!r} is not known.")
        values = {
            "query": query,
            "path": scope.get("path_params", {}),
            "header": self._read_headers(scope),
        }
        for parameter in self._parameters:
            self._check(parameter, values[parameter["in"]])

    def _read_headers(self, scope: Scope) -> dict[str, str]:
        headers = {}
        for name in self._headers:
            values = _header_values(scope, name.lower().encode())
            if len(values) > 1:
                raise BadRequestProblem(f"Header parameter {name} is given more than once.")
            if values:
                headers[name] = values[0]
        return headers

    @staticmethod
    def _check(parameter: dict[str, Any], values: dict[str, str]) -> None:
        place, name, schema = parameter["in"], parameter["name"], parameter["schema"]
        text = values.get(name)
        if text is None:
            if parameter.get("required"):
                raise BadRequestProblem(f"The {place} parameter {name} is missing.")
            return
        where = f"{place.capitalize()} parameter {name}"
        value: Any = text
        if schema.get("type") == "integer":
            if not INTEGER.fullmatch(text):
                raise BadRequestProblem(f"{where}: {text[:64]!r} is not an integer.")
            value = int(text)
        _check_value(schema, value, where)


def read_query(query_string: bytes) -> dict[str, str]:
    """Query parameters by their names, each given once. Raises BadRequestProblem."""
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_QUERY_PARAMETERS,
        )
    except UnicodeError:
        raise BadRequestProblem("The query string is not percent-encoded UTF-8.") from None
    except ValueError:
        raise BadRequestProblem(
            f"There are more than {MAX_QUERY_PARAMETERS} query parameters."
        ) from None
    query = dict(pairs)
    if len(query) != len(pairs):
        raise BadRequestProblem("A query parameter is given more than once.")
    return query


def _header_values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


VALIDATORS = {"parameter": Parameters, "body": {MEDIA_TYPE: JsonBody, FORM_TYPE: FormBody}}
