"""Reading JSON bodies."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from sandbox import errors


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
    # Python reads NaN and Infinity, which are no JSON, and would write them into every answer.
    raise ValueError(constant)


async def graph_body(request: web.Request) -> dict[str, Any]:
    """The body of a Graph request. Raises GraphError 100."""
    try:
        return await json_object(request)
    except ValueError as error:
        raise errors.parameter(f"Invalid parameter: {error}") from error


def require_product(payload: dict[str, Any]) -> None:
    """Every messaging request names its product. Raises GraphError 100."""
    if "messaging_product" not in payload:
        raise errors.parameter("The parameter messaging_product is required.")
    if payload["messaging_product"] != "whatsapp":
        raise errors.parameter("Param messaging_product must be one of {WHATSAPP}")
