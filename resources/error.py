"""The ErrorResponse object of the contract (docs/errors.md): the status of each code, and the JSON."""

import json
from collections.abc import Mapping
from typing import Any

from gateway.settings import get_settings
from models.clock import moment
from networks.exceptions import ErrorDetails

STATUS = {
    "VALIDATION_ERROR": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    "CONFLICT": 409,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "RATE_LIMITED": 429,
    "HEADERS_TOO_LARGE": 431,
    "INTERNAL_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}
CODES = {status: code for code, status in STATUS.items()}


def network_words(details: ErrorDetails) -> dict[str, str]:
    """What the network said about an error, as members of the contract. Only what is known."""
    until = details.restricted_until
    words = {
        "networkTitle": details.title,
        "networkMessage": details.message,
        "networkDetails": details.text,
        "networkTraceId": details.trace_id,
        "networkRestriction": details.restriction,
        "networkRestrictedUntil": moment(until),
    }
    return {name: value for name, value in words.items() if value is not None}


def help_link(code: str) -> str:
    """The place that explains a code (dashboard/reference.py)."""
    return f"{get_settings().public_url.rstrip('/')}/api/errors/#{code}"


def error_text(code: str, message: str, details: Mapping[str, int | str]) -> str:
    """The ErrorResponse object as JSON text."""
    error: dict[str, Any] = {"code": code, "message": message, "status": STATUS[code]}
    error["details"] = {**details, "help": help_link(code)}
    # orjson fails for half of a surrogate pair, which a text of the network may contain.
    return json.dumps({"error": error}, separators=(",", ":"))
