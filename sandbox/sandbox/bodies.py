"""Reading JSON bodies, and the parameters of a Graph request in every form the platform takes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from sandbox import graph_errors

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# Parameters that identify the caller.
OF_THE_CALLER = ("access_token", "appsecret_proof")
# Parameters that are always texts, even if they look like JSON.
TEXTS = ("biz_opaque_callback_data", "prefilled_message")


async def json_object(request: web.Request) -> dict[str, Any]:
    """The body as a JSON object; an absent body is an empty one.

    Raises ValueError with the reason.
    """
    raw = await request.read()
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError("the body is not valid JSON") from error
    if not isinstance(value, dict):
        raise ValueError("the body must be a JSON object")  # noqa: TRY004 - one kind of error for callers
    return value


def _refuse(constant: str) -> None:
    # Python's parser accepts NaN and Infinity, which are not valid JSON.
    raise ValueError(constant)


async def graph_body(request: web.Request) -> dict[str, Any]:
    """The parameters of a Graph request: those of the query, and over them those of the body.

    The body is a JSON object or a form. A text of a query or a form that begins like a JSON object or array
    is one. A member that is null is the same as none. Raises GraphError 100.
    """
    try:
        if request.headers.get("Content-Type", "").lower().startswith(FORMS):
            given = _texts((await request.post()).items())
        else:
            given = await json_object(request)
            # Most bodies have none and need no copy.
            if b"null" in await request.read():
                given = _without_nulls(given)
    # A form may name an unknown charset.
    except (ValueError, LookupError) as error:
        raise graph_errors.parameter(f"Invalid parameter: {error}") from error
    return query_parameters(request) | given if request.query_string else given


def query_parameters(request: web.Request) -> dict[str, Any]:
    """The parameters of the query, without the caller's credentials."""
    query = _texts(request.query.items())
    return {name: value for name, value in query.items() if name not in OF_THE_CALLER}


def _texts(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {
        name: value if name in TEXTS else decoded(value)
        for name, value in items
        if isinstance(value, str)
    }


def decoded(text: Any) -> Any:
    """The decoded value of a text that begins like a JSON object or array. Other values stay unchanged."""
    if not isinstance(text, str) or not text.startswith(("{", "[")):
        return text
    try:
        return _without_nulls(json.loads(text, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return text


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    return value


def require_product(payload: dict[str, Any]) -> None:
    """Every messaging request names its product, in any case. Raises GraphError 100."""
    if "messaging_product" not in payload:
        raise graph_errors.parameter("The parameter messaging_product is required.")
    if str(payload["messaging_product"]).lower() != "whatsapp":
        raise graph_errors.parameter("Param messaging_product must be one of {WHATSAPP}")
