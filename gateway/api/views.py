"""The operations of the contract as Flask views (docs/decisions/0029-one-hop-to-the-views.md).

Connexion has checked a request against the contract by then. What is left is to call the handler with its
arguments: who asks (``user``), the parameters of path and query by their Python names, and the body.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from connexion.middleware.abstract import SpecMiddleware
from connexion.operations import AbstractOperation
from flask import Flask, Response, request
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.api.resolver import function_name
from gateway.api.validation import MEDIA_TYPE, read_query
from gateway.http.auth import STATE_KEY
from gateway.http.methods import METHODS


@dataclass(frozen=True)
class View:
    """Calls the handler of one operation. ``query`` are the schemas of its parameters by their names."""

    handler: Callable[..., Any]
    query: Mapping[str, Mapping[str, Any]]
    takes_user: bool
    takes_body: bool

    @classmethod
    def of(cls, operation: AbstractOperation) -> "View":
        """The view of an operation of the contract."""
        parameters = [p for p in operation.parameters if p["in"] == "query"]
        return cls(
            operation.function,
            {p["name"]: p["schema"] for p in parameters},
            takes_user=bool(operation.security),
            takes_body=MEDIA_TYPE in operation.consumes,
        )

    def __call__(self, **arguments: Any) -> Response:
        """The response, with the parameters of the path as arguments."""
        scope: Scope = request.environ["asgi.scope"]
        if self.query:
            arguments |= self._read_query(scope["query_string"])
        if self.takes_user:
            arguments["user"] = scope[STATE_KEY].id
        if self.takes_body:
            # Empty only where the contract calls it optional.
            text = request.get_data()
            arguments["body"] = orjson.loads(text) if text else None
        return _response(self.handler(**arguments))

    def _read_query(self, query_string: bytes) -> dict[str, Any]:
        given, arguments = read_query(query_string), {}
        for name, schema in self.query.items():
            if name in given:
                is_number = schema.get("type") == "integer"
                arguments[function_name(name)] = int(given[name]) if is_number else given[name]
            elif "default" in schema:
                arguments[function_name(name)] = schema["default"]
        return arguments


def _response(result: Any) -> Response:
    """What a handler returns: a response, or an object of the contract, with its status behind it or not."""
    if isinstance(result, Response):
        return result
    shape, *status_and_headers = result if isinstance(result, tuple) else (result,)
    response = Response(orjson.dumps(shape), *status_and_headers)
    response.content_type = MEDIA_TYPE
    return response


class Views(SpecMiddleware):
    """The application below Connexion: ``app`` runs the views of ``flask``, to which operations are added."""

    def __init__(self, app: ASGIApp, flask: Flask) -> None:
        self._app = app
        self._flask = flask

    def add_api(self, specification: Any, *, resolver: Any, **_: object) -> None:
        """Add the operations of a contract. Connexion calls this when it starts."""
        for path, item in specification["paths"].items():
            for method in item.keys() & METHODS:
                operation = specification.operation_cls.from_spec(
                    specification, path=path, method=method, resolver=resolver
                )
                self._flask.add_url_rule(
                    specification.base_path + path.replace("{", "<").replace("}", ">"),
                    operation.operation_id,
                    View.of(operation),
                    methods=[method],
                )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        await self._app(scope, receive, send)
