"""Removes what a caller sent from an entry of the dashboard's log of API requests.

Kept are names of the contract, its enumerated values, identifiers of the gateway, times and short numbers.
Anything else in a path, a query or an error may be a name, a number or a text of a person. Errors quote
what they repeat of a request.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from gateway.api import contract
from models import clock
from models.accounts.api_request import ERROR
from resources.error import CODES

MAX_PARAMETERS, MAX_MESSAGE = 20, 1_000
HIDDEN = "..."
_PARAMETER = re.compile(r"\{(\w+)\}")
# A position in the events, a time, or a number shorter than any phone number.
_SAFE = re.compile(
    r"[0-7]?[0-9a-f]{1,15}-(evt_[0-9A-HJKMNP-TV-Z]{26})?|\d{1,6}"
    r"|\d{4}-\d\d-\d\d(T[\d:.]{5,15}(Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
# In double, single or typographic quotation marks. An apostrophe is inside or at the end of a word.
_QUOTED = re.compile(
    r'"((?:[^"\\]|\\.)*)"|(?<![\w\'])\'((?:[^\'\\]|\\.)*)\'(?!\w)|“([^”]*)”', re.DOTALL
)
_LONG_NUMBER = re.compile(r"(?<![\w-])\+?\d{7,}(?![\w-])(?! bytes)")
# A validator repeats the request's value first, and then names the contract's rule.
_VALUE = re.compile(
    r'(?:["\[{\d-]|true\b|false\b|null\b).*'
    r"( (?:is (?:not|longer|shorter|less|greater)|does not match|has (?:more|less|non)))",
    re.DOTALL,
)
# The names of unknown properties.
_UNKNOWN = re.compile(r"\(.*( (?:was|were) unexpected\))", re.DOTALL)
_DETAILS = frozenset({"networkCode", "messageId", "since"})
# The network's identifier of a call repeats nothing of the request.
_TRACE = "networkTraceId"


def without_text(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with ``path``, ``query`` and ``error_json``, of its route, parameters, query and error."""
    query = parse_qsl(entry["query"].decode("latin-1"), keep_blank_values=True)[:MAX_PARAMETERS]
    values = [*entry["params"].values(), *(value for _, value in query)]
    given = [value for value in values if not _is_safe(value)]
    return {
        **entry,
        "path": _path(entry["route"], entry["params"]),
        "query": urlencode([(_name(name), _value(value)) for name, value in query], safe=":"),
        "error_json": _error(entry["status"], entry["error_json"], given),
    }


def _is_safe(value: str) -> bool:
    return clock.is_id(value) or bool(_SAFE.fullmatch(value)) or value in contract.names()


def _value(value: str) -> str:
    # A list is separated by commas.
    return value if all(map(_is_safe, value.split(","))) else HIDDEN


def _name(name: str) -> str:
    return name if name in contract.names() else HIDDEN


def _path(route: str, parameters: Mapping[str, str]) -> str:
    # A slug is a credential.
    if "{slug}" in route:
        return route
    return _PARAMETER.sub(lambda found: _value(str(parameters[found[1]])), route)


def _error(status: int, body: bytes, given: Iterable[str]) -> str | None:
    """The error of a response. None without one, or for another format."""
    if status < ERROR:
        return None
    kept: dict[str, Any] = {"code": CODES.get(status, ""), "status": status}
    try:
        error = orjson.loads(body)["error"]
        details = error.get("details", {})
        message = _message(str(error["message"]), details.get("networkCode"), given)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return orjson.dumps(kept).decode()
    shown = {
        name: details[name] for name in details.keys() & _DETAILS if _is_safe(str(details[name]))
    }
    if _TRACE in details:
        shown[_TRACE] = details[_TRACE]
    if "field" in details:
        shown["field"] = _field(str(details["field"]))
    kept |= {"message": message} | ({"details": shown} if shown else {})
    return orjson.dumps(kept).decode()


def _field(pointer: str) -> str:
    return "/".join(part if not part or _is_safe(part) else HIDDEN for part in pointer.split("/"))


def _message(message: str, network_code: int | None, given: Iterable[str]) -> str:
    """The message of an error without what it repeats of the request: quoted and ``given`` values."""
    place, colon, complaint = message.partition(": ")
    if value := _VALUE.match(complaint):
        message = f"{place}{colon}{HIDDEN}{complaint[value.start(1) :]}"
    message = _UNKNOWN.sub(rf"({HIDDEN}\1", message)
    message = _QUOTED.sub(
        lambda found: found[0] if _is_safe(_inside(found)) else f'"{HIDDEN}"', message
    )
    if network_code is not None:
        # The network's own words may repeat anything. The page explains the code.
        head, code, _ = message.partition(str(network_code))
        message = head + code if code else message
    for text in filter(None, given):
        message = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", HIDDEN, message)
    return _LONG_NUMBER.sub(HIDDEN, message)[:MAX_MESSAGE]


def _inside(quoted: re.Match[str]) -> str:
    return next(text for text in quoted.groups() if text is not None)
