"""What a request asks for, found once at the door: one Operation for each of the contract, and for each page.

Everything that treats requests differently by their target reads it from the scope: the limits of size and
rate, the places for media, the line of the log, the name of a span. Connexion's routers would name only the
methods of the first route that fits a path in ``Allow``, and would take ``GET /messages/send`` for a message
called "send". So a path or method that the contract does not have is refused here, and they never see it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from starlette.exceptions import HTTPException

from gateway.http.bodies import MEBIBYTE

Target = TypeVar("Target")

# Where an Operation stands in the scope of a request.
KEY = "gateway.operation"
METHODS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"})
CALLBACK = "/network/callback"
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
# Flask's "<name>" and "<converter:name>", and the contract's "{name}".
_PARAMETER = re.compile(r"<(?:(?P<converter>\w+):)?\w+>|\{\w+\}")


@dataclass(frozen=True)
class Operation:
    """The target of a request.

    ``route`` is the template of its path, which logs and spans show in place of the path. ``body_limit`` is
    in bytes. A ``transfer`` moves media. One that is not ``metered`` is not counted, and one that is not
    ``logged`` has no line. ``refusal`` says why there is no such operation.
    """

    route: str
    is_page: bool = False
    takes_body: bool = True
    body_limit: int = MEBIBYTE
    transfer: bool = False
    metered: bool = True
    logged: bool = True
    refusal: HTTPException | None = None


NOWHERE = "*"
UNKNOWN_PAGE = Operation(NOWHERE, is_page=True)
NOT_FOUND = Operation(NOWHERE, refusal=HTTPException(404))
# A document at its largest, and the multipart form around it.
UPLOAD_LIMIT = 100 * MEBIBYTE + 64 * 1024
_SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "uploadMedia": {"transfer": True, "body_limit": UPLOAD_LIMIT},
    "downloadMedia": {"transfer": True},
}


class Operations:
    """The operations of ``contract`` below ``base``, and the pages beside it by Flask's ``rules``."""

    def __init__(self, contract: Mapping[str, Any], base: str, rules: Iterable[str]) -> None:
        self._base = base
        paths = contract["paths"].items()
        self._contract = _Routes(
            (base + path, _by_method(base + path, item)) for path, item in paths
        )
        self._pages = _Routes((rule, _page(rule)) for rule in (*rules, CALLBACK))

    def find(self, method: str, path: str) -> Operation:
        """The target of a request. One of the contract may be refused: 404, or 405 with the methods it has.

        A page is not: Flask knows its methods, and has a page for what does not exist.
        """
        if (operations := self._contract.fitting(path)) is None:
            return self._page(path)
        if method not in operations:
            allowed = ", ".join(sorted(operations))
            route = next(iter(operations.values())).route
            return Operation(route, refusal=HTTPException(405, headers={"Allow": allowed}))
        return operations[method]

    def _page(self, path: str) -> Operation:
        page = self._pages.fitting(path)
        if page is None and (f"{path}/".startswith(f"{self._base}/") or "//" in path):
            return NOT_FOUND
        return page or UNKNOWN_PAGE


class _Routes(Generic[Target]):
    """What belongs to each path template; where two fit a path, the one with fewer parameters is meant."""

    def __init__(self, targets: Iterable[tuple[str, Target]]) -> None:
        ordered = sorted(targets, key=lambda target: len(_PARAMETER.findall(target[0])))
        self._concrete = {path: target for path, target in ordered if not _PARAMETER.search(path)}
        self._templates = [
            (_pattern(path), target) for path, target in ordered if _PARAMETER.search(path)
        ]

    def fitting(self, path: str) -> Target | None:
        """What belongs to a path, None where no template fits it."""
        if path in self._concrete:
            return self._concrete[path]
        fitting = (target for pattern, target in self._templates if pattern.fullmatch(path))
        return next(fitting, None)


def _by_method(route: str, item: Mapping[str, Any]) -> dict[str, Operation]:
    operations = {
        method: _operation(route, item[method.lower()])
        for method in METHODS
        if method.lower() in item
    }
    if "GET" in operations:
        operations["HEAD"] = operations["GET"]
    return operations


def _operation(route: str, described: Mapping[str, Any]) -> Operation:
    special = _SPECIAL.get(described["operationId"], {})
    return Operation(route, takes_body="requestBody" in described, **special)


def _page(rule: str) -> Operation:
    if rule == CALLBACK:
        return Operation(rule, is_page=True, metered=False, body_limit=4 * MEBIBYTE)
    return Operation(rule, is_page=True, metered=rule not in PROBES, logged=rule not in PROBES)


def _pattern(template: str) -> re.Pattern[str]:
    written, end = "", 0
    for found in _PARAMETER.finditer(template):
        segment = ".+" if found["converter"] == "path" else "[^/\\n]+"
        written += re.escape(template[end : found.start()]) + segment
        end = found.end()
    return re.compile(written + re.escape(template[end:]))
