"""Requests against the contract: Connexion's ``validator_map``, stricter and faster than its own.

The body is read as strict UTF-8 JSON (no NaN, no unpaired surrogates, bounded nesting). Parameters are
given once each, and integers are digits only. Schemas are compiled once.
"""

import re
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import orjson
from anyio import CapacityLimiter, to_thread
from connexion.exceptions import BadRequestProblem, UnsupportedMediaTypeProblem
from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from gateway.api.complaint import complaint
from gateway.api.operations import LARGE_BODY

MEDIA_TYPE = "application/json"
FORM_TYPE = "multipart/form-data"
UTF_8 = {"utf-8", "utf8"}
MAX_MESSAGE_CHARACTERS = 300
MAX_QUERY_PARAMETERS = 100
INTEGER = re.compile(r"-?[0-9]{1,30}", re.ASCII)

BODY = "Request body"
# Several at once would only take the interpreter from each other, and from the event loop.
ONE_AT_A_TIME = CapacityLimiter(1)


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
        body = await Request(scope, receive).body()
        if not (body or self._required):
            keep_payload(scope, None)
            return _no_more, scope
        _check_content_type(scope)
        if not body:
            raise BadRequestProblem(f"{BODY}: it is empty. Send a JSON object.")
        read = partial(self._read, body)
        is_large = len(body) >= LARGE_BODY
        keep_payload(
            scope, await to_thread.run_sync(read, limiter=ONE_AT_A_TIME) if is_large else read()
        )
        return _no_more, scope

    def _read(self, body: bytes) -> Any:
        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise BadRequestProblem(f"{BODY}: it is not valid JSON in UTF-8: {error}") from None
        try:
            _check_value(self._schema, payload, BODY)
        except ValueError:
            # The schema's checker gives up some levels of nesting before the parser does.
            raise BadRequestProblem(f"{BODY}: it is nested too deeply.") from None
        return payload


def _check_content_type(scope: Scope) -> dict[str, str]:
    """The parameters of the content type. Raises 415 for none, several, or a coding that is not ours.

    Connexion has refused types that the operation does not take.
    """
    given = _header_values(scope, b"content-type")
    if len(given) != 1 or not given[0]:
        raise _unsupported(
            "content type", ", ".join(given) or "(none)", f"one, such as {MEDIA_TYPE}"
        )
    pairs = (parameter.partition("=") for parameter in given[0].split(";")[1:])
    parameters = {name.strip().lower(): value.strip("\"' ") for name, _, value in pairs}
    if (charset := parameters.get("charset", "utf-8")).lower() not in UTF_8:
        raise _unsupported("charset", charset, "UTF-8")
    for coding in _header_values(scope, b"content-encoding"):
        if coding.lower() != "identity":
            raise _unsupported("content encoding", coding, "the body as it is")
    return parameters


def _unsupported(what: str, given: str, supported: str) -> UnsupportedMediaTypeProblem:
    return UnsupportedMediaTypeProblem(f"The {what} {given} is not supported. Send {supported}.")


class FormBody:
    """Connexion's validator of a form in parts: its headers only, for the handler reads the parts.

    Connexion would hold a large file in memory.
    """

    def __init__(self, **_: object) -> None:
        pass

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        """Check the headers. Raises 415. The payload is the whole request, unread."""
        if "boundary" not in _check_content_type(scope):
            raise _unsupported("content type", FORM_TYPE, "it with its boundary")
        keep_payload(scope, Request(scope, receive))
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
        return _no_more, {**scope, "headers": headers}


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
