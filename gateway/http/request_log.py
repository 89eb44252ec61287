"""Removes possible personal text from an entry of the dashboard's log of API requests."""

import re
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import orjson

from models.accounts.api_request import ERROR
from resources.error import CODES

MAX_PATH, MAX_NAME, MAX_PARAMETERS, MAX_MESSAGE = 200, 50, 20, 1_000
# Query parameters whose values hold no personal text.
PLAIN = frozenset(
    [
        "action",
        "after",
        "category",
        "contactId",
        "direction",
        "event",
        "id",
        "language",
        "limit",
        "numberId",
        "offset",
        "since",
        "state",
        "status",
        "subject",
        "type",
        "until",
        "waMessageId",
    ]
)
_PLAIN_VALUE = re.compile(r"[\w.:+=-]{1,128}", re.ASCII)
HIDDEN = "..."
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
# A validator repeats the request's value first, and then names the contract's rule.
_VALUE = re.compile(
    r'["\[{].*( (?:is (?:not|longer|shorter|less|greater)|does not match|has (?:more|less|non)))',
    re.DOTALL,
)


def without_text(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {
        "path": quote(entry["path"], safe="/:@+,{}", errors="replace")[:MAX_PATH],
        "query": plain_query(entry["query"]),
        "error_json": _error(entry["status"], entry["error_json"]),
    }


def plain_query(query: bytes) -> str:
    """A query with possible personal text hidden."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)[:MAX_PARAMETERS]
    shown = [
        (name[:MAX_NAME], value if name in PLAIN and _PLAIN_VALUE.fullmatch(value) else HIDDEN)
        for name, value in pairs
    ]
    return urlencode(shown, safe=":")


def _error(status: int, body: bytes) -> str | None:
    """The error of a response. None without one, or for another format."""
    if status < ERROR:
        return None
    try:
        error = orjson.loads(body)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return orjson.dumps({"code": CODES.get(status, ""), "status": status}).decode()
    message, field = str(error["message"]), str(error.get("details", {}).get("field", ""))
    return orjson.dumps(error | {"message": without_values(message, field)}).decode()


def without_values(message: str, field: str) -> str:
    """The message of an error without the request's values, except for names in ``field``."""
    names = {f'"{name}"' for name in field.split("/")}
    place, colon, complaint = message.partition(": ")
    if value := _VALUE.match(complaint):
        return f"{place}{colon}{HIDDEN}{complaint[value.start(1) :]}"[:MAX_MESSAGE]
    shown = _QUOTED.sub(lambda found: found[0] if found[0] in names else f'"{HIDDEN}"', message)
    return shown[:MAX_MESSAGE]
