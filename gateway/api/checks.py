"""What Connexion checks before it calls the operation that the edge found: the key, parameters and body.

The validators are stricter and faster than its own. The body is read as strict UTF-8 JSON (no NaN, no
unpaired surrogates, bounded nesting). Parameters are given once each, except for lists, and integers are
digits only. Schemas are compiled once.
"""

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
from anyio import CapacityLimiter, to_thread
from connexion.exceptions import BadRequestProblem, Unauthorized
from connexion.lifecycle import ConnexionRequest
from connexion.middleware.routing import RoutingMiddleware
from connexion.uri_parsing import OpenAPIURIParser
from jsonschema_rs import Draft4Validator
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.content_types import FORM, JSON, check_content_type, unsupported
from gateway.api.operations import BASE, BODY, KEY, LARGE_BODY, Operation
from gateway.api.schema_errors import Complaint, Schema, first_mistake, validator_of
from gateway.http.admission import CALLER, Caller
from models.accounts.account import ApiKey
from models.accounts.actor import SERVICE, Actor, ActorKind, present_actor
from models.accounts.scope import present_numbers
from models.clock import timestamp
from models.errors import ForbiddenError
from networks.nesting import MOST_LEVELS, is_too_deep

IDEMPOTENCY_KEY = "idempotency-key"
SAFE = {"GET", "HEAD"}
# The longest list of allowed words, the kinds of events, takes half of it.
MAX_MESSAGE_CHARACTERS = 600
MAX_QUERY_PARAMETERS = 100
# How much of an unknown parameter's name an error repeats.
MAX_NAME = 64
# Between the items of a list in one parameter.
COMMA = ","
INTEGER = re.compile(r"-?[0-9]{1,30}", re.ASCII)

BODY_PLACE = "Request body"
# Several at once would only compete for the interpreter with each other and the event loop.
ONE_AT_A_TIME = CapacityLimiter(1)

# By the identity of the schema, which lives as long as Connexion.
_validators: dict[int, tuple[Schema, Draft4Validator]] = {}


Called = Coroutine[Any, Any, None]


class Routing(RoutingMiddleware):
    """Connexion's routing, which calls the operation in the scope instead of searching by the path."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self.router = _Found()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Called:
        """Make Connexion pass the caller to the handler, as ``user`` and ``key_id``.

        Raises Unauthorized, and ForbiddenError if the key lacks the scope. It also passes a header
        ``idempotency_key``, which Parameters validates before the call. The caller is also the actor of the
        request, in its own context.
        """
        if scope["type"] == "http" and scope[KEY].public:
            present_actor.set(_actor(scope, None))
        elif scope["type"] == "http":
            caller: Caller = scope[CALLER]
            if caller.account is None:
                raise Unauthorized(_why(scope, caller))
            # A page calls without a key, and has set the actor.
            given = {"user": caller.account.id, "key_id": caller.key.id if caller.key else ""}
            if (key := Headers(scope=scope).get(IDEMPOTENCY_KEY)) is not None:
                given["idempotency_key"] = key
            ConnexionRequest(scope).context.update(given)
            if caller.key:
                _check_key(caller.key, scope[KEY])
                present_actor.set(_actor(scope, caller.key))
        called: Called = super().__call__(scope, receive, send)
        return called


def _check_key(key: ApiKey, operation: Operation) -> None:
    """Raise ForbiddenError if the key may not call the operation. Sets the numbers that it may reach."""
    if not key.allows(operation.scope):
        raise ForbiddenError(
            f"This API key lacks the scope {operation.scope}. Use a key that has it.",
            scope=operation.scope,
        )
    number_ids = key.number_ids
    if number_ids is not None and operation.account_wide:
        raise ForbiddenError(
            "This API key is limited to numbers, and this operation is about the whole account."
            " Use another key."
        )
    present_numbers.set(None if number_ids is None else frozenset(number_ids))


def _actor(scope: Scope, key: ApiKey | None) -> Actor:
    address = (scope.get("client") or ("",))[0]
    if key is None:
        return replace(SERVICE, address=address)
    return Actor(ActorKind.KEY, key.id, key.name, address)


class _Found(Router):
    """Connexion's routes of the contract, by operationId."""

    def mount(self, path: str, app: ASGIApp, name: str | None = None) -> None:
        """Connexion adds its routes with this."""
        super().mount(path, app, name)
        endpoints = [cast("Any", route).endpoint for route in cast("Router", app).routes]
        self._endpoints: dict[str, Callable[..., Called]] = {
            each.operation_id: each for each in endpoints
        }

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Called:
        """Call the operation in the scope."""
        endpoint = self._endpoints[scope[KEY].name]
        # Connexion finds the contract by the path of its servers.
        return endpoint({**scope, "root_path": scope["root_path"] + BASE}, receive, send)


def _why(scope: Scope, caller: Caller) -> str:
    """The error for an invalid or missing key."""
    if caller.expired_at is not None:
        return f"The API key expired at {timestamp(caller.expired_at)}. Create another one."
    if caller.is_suspended:
        return "The account is suspended. Ask its operator to resume it."
    if "authorization" in Headers(scope=scope):
        return "The API key is invalid or revoked. Send Authorization: Bearer mk_live_...."
    return "An API key is required. Send the header Authorization: Bearer mk_live_...."


def _mistake(schema: Schema, value: Any) -> Complaint | None:
    """What is wrong with a value, None when it fits."""
    if id(schema) not in _validators:
        _validators[id(schema)] = (schema, validator_of(schema))
    if _validators[id(schema)][1].is_valid(value):
        return None
    return first_mistake(schema, value)


def _problem(found: Complaint, where: str, field: str | None = None) -> BadRequestProblem:
    inside = "".join(f"{'.' if i else ', '}{part}" for i, part in enumerate(found.place))
    message, half = found.message, MAX_MESSAGE_CHARACTERS // 2
    if len(message) > MAX_MESSAGE_CHARACTERS:
        # The names in it are long. The mistake is at its end.
        message = f"{message[:half]} ... {message[-half:]}"
    return _bad_request(f"{where}{inside}: {message}", field)


def _bad_request(message: str, field: str | None) -> BadRequestProblem:
    """400, with the JSON pointer to the mistake, if any."""
    problem = BadRequestProblem(message)
    if field is not None:
        problem.ext = {"field": field}
    return problem


def _pass_payload(scope: Scope, payload: Any) -> None:
    """Make Connexion pass the parsed body to the handler, as the argument ``payload``."""
    ConnexionRequest(scope).context["payload"] = payload


class JsonBody:
    """Connexion's validator of a JSON body. It parses the body once for all. Raises 400 or 415.

    A body that is not required may be absent. Connexion makes one of these for each request.
    """

    def __init__(self, *, schema: Schema, required: bool, **_: object) -> None:
        self._schema = schema
        self._required = required

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        """Check the body, which is in the scope."""
        body, payload = scope[BODY], None
        if body or self._required:
            check_content_type(scope, JSON)
            read = partial(self._read, body)
            is_large = len(body) >= LARGE_BODY
            payload, found = (
                await to_thread.run_sync(read, limiter=ONE_AT_A_TIME) if is_large else read()
            )
            if found is not None:
                raise _problem(found, BODY_PLACE, found.pointer)
        _pass_payload(scope, payload)
        return receive, scope

    def _read(self, body: bytes) -> tuple[Any, Complaint | None]:
        """The payload, or what is wrong with it.

        An error raised by a thread would keep the body in memory until the next garbage collection.
        """
        if not body:
            return None, Complaint((), "it is empty. Send a JSON object.")
        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return None, Complaint((), _unreadable(body, error))
        if is_too_deep(body, payload):
            return None, Complaint((), f"it is nested more than {MOST_LEVELS} levels deep.")
        return payload, _mistake(self._schema, payload)


def _unreadable(body: bytes, error: orjson.JSONDecodeError) -> str:
    """Why a body cannot be parsed. The parser does not tell where bytes are no UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError as found:
        return f"it is not UTF-8 at byte {found.start + 1}. Encode the JSON in UTF-8."
    return f"it is not valid JSON: {error}"


class FormBody:
    """Connexion's validator of a multipart form. It checks only headers: the handler reads the parts.

    Connexion would hold a large file in memory.
    """

    def __init__(self, **_: object) -> None:
        pass

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        """Check the headers. Raises 415. The payload is the whole request, unread."""
        if "boundary" not in check_content_type(scope, FORM):
            raise unsupported("content type", FORM, "it with its boundary")
        _pass_payload(scope, Request(scope, receive))
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
        return receive, {**scope, "headers": headers}


class Parameters:
    """Connexion's validator of the parameters in path, query and headers. It makes one for each request."""

    def __init__(self, parameters: list[dict[str, Any]], **_: object) -> None:
        self._parameters = parameters

    def validate(self, scope: Scope) -> None:
        """Raise BadRequestProblem unless every parameter fits its schema."""
        described = {p["name"]: p for p in self._parameters if p["in"] == "query"}
        headers, query = Headers(scope=scope), _read_query(scope["query_string"], described)
        values = {"query": query, "path": scope.get("path_params", {}), "header": headers}
        for parameter in self._parameters:
            place, name = parameter["in"], parameter["name"]
            if place == "header" and len(headers.getlist(name)) > 1:
                raise BadRequestProblem(f"Header parameter {name} is given more than once.")
            _check_parameter(parameter, values[place].get(name))
        takes_key = any(p["name"].lower() == IDEMPOTENCY_KEY for p in self._parameters)
        if scope["method"] not in SAFE and IDEMPOTENCY_KEY in headers and not takes_key:
            # Ignored, it would promise what no one keeps.
            raise BadRequestProblem(
                "The header Idempotency-Key has no effect here. Nothing was done. Repeat without it."
            )


def _check_parameter(parameter: dict[str, Any], text: str | None) -> None:
    place, name, schema = parameter["in"], parameter["name"], parameter["schema"]
    where, field = (
        f"{place.capitalize()} parameter {name}",
        f"/{name}" if place == "query" else None,
    )
    if text is None:
        if parameter.get("required"):
            raise _bad_request(f"{where} is missing. It is required.", field)
        return
    value: Any = text
    if schema.get("type") == "integer":
        if not INTEGER.fullmatch(text):
            raise _bad_request(f"{where}: {text[:64]!r} is not an integer.", field)
        value = int(text)
    elif schema.get("type") == "array":
        value = text.split(COMMA)
    if (found := _mistake(schema, value)) is not None:
        raise _problem(found, where, field)


def _read_query(query_string: bytes, described: Mapping[str, Any]) -> dict[str, str]:
    """Query parameters by their names. Raises BadRequestProblem.

    Each is given once. Only one that is a list may be repeated, and its texts are joined.
    """
    query: dict[str, str] = {}
    for name, text in _pairs(query_string):
        field = Complaint((), "", name[:MAX_NAME]).pointer
        if name not in described:
            known = ", ".join(described) or "none"
            raise _bad_request(
                f"Query parameter {name[:MAX_NAME]!r} is not known. Known here: {known}.", field
            )
        if name not in query:
            query[name] = text
        elif described[name]["schema"].get("type") == "array":
            query[name] += COMMA + text
        else:
            raise _bad_request(
                f"Query parameter {name} is given more than once. Give it once.", field
            )
    return query


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    if not query_string:
        return []
    try:
        return parse_qsl(
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


class JoinedLists(OpenAPIURIParser):
    """Connexion's parser of parameters, which joins those that are given several times.

    Only lists can be: Parameters has refused all others.
    """

    @staticmethod
    def _resolve_param_duplicates(values: Sequence[str], _described: object, _in: str) -> str:
        return COMMA.join(values)


VALIDATORS = {"parameter": Parameters, "body": {JSON: JsonBody, FORM: FormBody}}
